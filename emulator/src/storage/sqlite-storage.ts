import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { DocumentChange, StoredDoc } from './collections';

/** `PRAGMA application_id` and `user_version` identify a file of this program and the version of its tables. */
const APPLICATION_ID = 0x66697265;
const VERSION = 2;

const TABLES = `
  CREATE TABLE documents (
    row INTEGER PRIMARY KEY, collection TEXT NOT NULL, id TEXT NOT NULL, create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL, fields BLOB NOT NULL
  );
  CREATE TABLE clock (last_time INTEGER NOT NULL);
  INSERT INTO clock VALUES (0);
`;

interface Row {
  collection: string;
  id: string;
  fields: Uint8Array;
  create_time: number;
  update_time: number;
  row: number;
}

/**
 * The documents on disk, in one SQLite file. A commit is one SQLite transaction in the write-ahead log: a crash of the
 * process does not lose it, and an interrupted commit leaves nothing. CONTRIBUTING.md describes a loss of power.
 *
 * Each document in memory has the number of its row, so there is no index by id, which would write a page for nearly every
 * new document with a random id. SQLite's exclusive lock rejects a second server and ends with the process that holds it.
 */
export class SqliteStorage {
  private readonly statements;

  private constructor(
    private readonly database: DatabaseSync,
    private readonly folder: string,
  ) {
    this.statements = {
      add: database.prepare('INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?)'),
      put: database.prepare('UPDATE documents SET create_time = ?, update_time = ?, fields = ? WHERE row = ?'),
      remove: database.prepare('DELETE FROM documents WHERE row = ?'),
      tick: database.prepare('UPDATE clock SET last_time = ?'),
    };
  }

  /**
   * Opens the data folder and creates it if necessary.
   * @throws Error whose message names the folder and the reason, and says what to do
   */
  static open(folder: string): SqliteStorage {
    if (folder === '')
      throw new Error(
        'the data folder has an empty name: name a folder, or omit `dataDir` if nothing should be stored on disk.',
      );
    let database: DatabaseSync | undefined;
    try {
      createFolder(resolve(folder));
      const file = join(folder, 'firestore.sqlite');
      makePrivate(file);
      // Loaded only for data on disk, because Node 22 prints a warning when it loads this module.
      const sqlite = process.getBuiltinModule('node:sqlite');
      database = new sqlite.DatabaseSync(file);
      prepareDatabase(database);
      return new SqliteStorage(database, folder);
    } catch (error) {
      database?.close();
      throw toStorageError(error, folder);
    }
  }

  /** The time of the last commit that changed a document, in microseconds since 1970; 0 before the first one and after `clear`. */
  get lastTime(): number {
    return Number(this.database.prepare('SELECT last_time FROM clock').get()?.['last_time'] ?? 0);
  }

  /** Reads all documents. */
  *readAll(): Generator<StoredDoc> {
    try {
      const rows = this.database.prepare('SELECT * FROM documents').iterate() as Iterable<unknown> as Iterable<Row>;
      for (const { collection, id, fields, create_time, update_time, row } of rows) {
        // Copies small documents into Node's shared pool, because separate buffers would take more memory than their content.
        yield { collection, id, fields: Buffer.from(fields), createTime: create_time, updateTime: update_time, row };
      }
    } catch (error) {
      this.database.close();
      throw toStorageError(error, this.folder);
    }
  }

  /** Stores the changes of one commit, all or none. Sets `row` of each stored document to its row in the table. */
  commit(changes: readonly DocumentChange[], time: number): void {
    this.runInTransaction(() => {
      for (const { old, doc } of changes) {
        if (!doc) {
          this.statements.remove.run(old?.row ?? 0);
        } else if (old) {
          doc.row = old.row;
          this.statements.put.run(doc.createTime, doc.updateTime, doc.fields, doc.row);
        } else {
          const added = this.statements.add.run(doc.collection, doc.id, doc.createTime, doc.updateTime, doc.fields);
          doc.row = Number(added.lastInsertRowid);
        }
      }
      this.statements.tick.run(time);
    });
  }

  clear(): void {
    this.runInTransaction(() => {
      this.database.exec('DELETE FROM documents');
      this.statements.tick.run(0);
    });
  }

  close(): void {
    this.database.close();
  }

  private runInTransaction(work: () => void): void {
    this.database.exec('BEGIN');
    try {
      work();
      this.database.exec('COMMIT');
    } catch (error) {
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      throw toStorageError(error, this.folder);
    }
  }
}

function prepareDatabase(database: DatabaseSync): void {
  // A commit waits while SQLite copies the log into the file, so SQLite does this every 16 MB instead of every 4 MB.
  database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000`);
  // BEGIN EXCLUSIVE takes the lock, and the locking mode keeps it until the file is closed.
  database.exec('BEGIN EXCLUSIVE');
  const readPragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  const version = readPragma('user_version');
  if (database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) {
    database.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`);
  } else if (readPragma('application_id') !== APPLICATION_ID) {
    throw new Error('its firestore.sqlite belongs to another program');
  } else if (version !== VERSION) {
    throw new Error(`it was written by another version (format ${version}; this version reads format ${VERSION})`);
  }
  database.exec('COMMIT');
}

/** The primary result codes of SQLite that have messages of their own. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

function getPrimaryCode(error: unknown): number | undefined {
  const code = (error as { errcode?: number }).errcode;
  return code === undefined ? undefined : code & 0xff;
}

function toStorageError(error: unknown, folder: string): Error {
  const primary = getPrimaryCode(error);
  const { message: reason } = error as Error;
  let message = `cannot be used, because ${reason}: move it away, or choose another folder, to start empty.`;
  if (primary === SQLITE_BUSY) {
    message = 'is in use: stop the program that uses it, or choose another folder.';
  } else if (primary === SQLITE_FULL) {
    message = 'is on a full disk: free some space, or choose another folder.';
  }
  return new Error(`the data folder ${folder} ${message}`, { cause: error });
}

/**
 * Creates a folder and its parents. Node's recursive mkdir never returns where the system reports ENOENT although the parent
 * exists, as in /proc.
 */
function createFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`there is no drive ${folder}`);
  createFolder(parent);
  mkdirSync(folder, { mode: 0o700 });
}

/**
 * Creates a file that only its owner can read. SQLite gives its log the same permissions. The function does not open a file
 * that exists, because closing it would end SQLite's locks on it in this process.
 */
function makePrivate(file: string): void {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) closeSync(openSync(file, 'a', 0o600));
}
