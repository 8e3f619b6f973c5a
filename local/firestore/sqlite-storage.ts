import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoredDoc } from './collections';

/** What a commit changes: a document to put at a place, or none to empty it. */
export interface DocumentChange {
  readonly collection: string;
  readonly id: string;
  readonly old: StoredDoc | undefined;
  readonly doc: StoredDoc | undefined;
}

/** `PRAGMA application_id` and `user_version`: what marks a file as ours, and the version of its tables. */
const APPLICATION_ID = 0x66697265;
const VERSION = 1;

const TABLES = `
  CREATE TABLE collections (key INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
  CREATE TABLE documents (
    row INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id TEXT NOT NULL, create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL, fields BLOB NOT NULL
  );
  CREATE INDEX documents_by_collection ON documents (collection);
  CREATE TABLE clock (last_time INTEGER NOT NULL);
  INSERT INTO clock VALUES (0);
`;

/**
 * The documents on disk, in one SQLite file. A commit is one SQLite transaction in the write-ahead log: once it returns,
 * the death of this process cannot lose it, and a commit that was under way leaves nothing. (The death of the machine can
 * lose the last commits but not mix them up: the log is flushed to the medium at checkpoints only.)
 *
 * Rows are found by their number, which each document in memory knows: an index by id would make a commit of new documents
 * with random ids write a page for nearly every one of them.
 *
 * SQLite's own exclusive lock keeps a second server out; the operating system drops it with the process that held it.
 */
export class SqliteStorage {
  private readonly keys = new Map<string, number>();
  /** The collections that the transaction under way has added. */
  private readonly added: string[] = [];
  private readonly statements;

  private constructor(private readonly database: DatabaseSync) {
    this.statements = {
      addCollection: database.prepare('INSERT INTO collections (path) VALUES (?)'),
      add: database.prepare('INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?)'),
      put: database.prepare('UPDATE documents SET create_time = ?, update_time = ?, fields = ? WHERE row = ?'),
      remove: database.prepare('DELETE FROM documents WHERE row = ?'),
      tick: database.prepare('UPDATE clock SET last_time = ?'),
      page: database.prepare(
        'SELECT row, id, create_time, update_time, fields FROM documents WHERE collection = ? AND row > ? ORDER BY row LIMIT ?',
      ),
      any: database.prepare('SELECT 1 FROM documents WHERE collection = ? LIMIT 1'),
    };
    for (const row of database.prepare('SELECT key, path FROM collections').all()) {
      this.keys.set(String(row['path']), Number(row['key']));
    }
  }

  /** Opens the data folder, making it if need be. Throws an Error that says what is wrong with it and what to do. */
  static open(folder: string): SqliteStorage {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'firestore.sqlite');
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(file);
      prepare(database);
      return new SqliteStorage(database);
    } catch (error) {
      database?.close();
      throw explain(error, folder);
    }
  }

  /** The resource names of all collections that ever held a document. */
  get collections(): Iterable<string> {
    return this.keys.keys();
  }

  /** The time of the last commit, in microseconds since 1970. */
  get lastTime(): number {
    return Number(this.database.prepare('SELECT last_time FROM clock').get()?.['last_time'] ?? 0);
  }

  hasDocuments(collection: string): boolean {
    const key = this.keys.get(collection);
    return key !== undefined && this.statements.any.get(key) !== undefined;
  }

  /** The documents of a collection in the order of their rows, those after one row, at most `limit`. */
  page(collection: string, after: number, limit: number): StoredDoc[] {
    const key = this.keys.get(collection);
    if (key === undefined) return [];
    return this.statements.page.all(key, after, limit).map((row) => ({
      collection,
      id: row['id'] as string,
      // A copy into Node's shared pool: a buffer of its own for each row would cost more than the row.
      fields: Buffer.from(row['fields'] as Uint8Array),
      createTime: row['create_time'] as number,
      updateTime: row['update_time'] as number,
      row: row['row'] as number,
    }));
  }

  /** Makes the changes of one commit durable, all or none. */
  commit(changes: readonly DocumentChange[], time: number): void {
    this.atomically(() => {
      for (const { collection, id, old, doc } of changes) {
        if (!doc) {
          this.statements.remove.run(old?.row ?? 0);
        } else if (old) {
          doc.row = old.row;
          this.statements.put.run(doc.createTime, doc.updateTime, doc.fields, doc.row);
        } else {
          const key = this.keyOf(collection);
          const added = this.statements.add.run(key, id, doc.createTime, doc.updateTime, doc.fields);
          doc.row = Number(added.lastInsertRowid);
        }
      }
      this.statements.tick.run(time);
    });
  }

  clear(): void {
    this.atomically(() => this.database.exec('DELETE FROM documents; DELETE FROM collections'));
    this.keys.clear();
  }

  close(): void {
    this.database.close();
  }

  private keyOf(collection: string): number {
    const known = this.keys.get(collection);
    if (known !== undefined) return known;
    const key = Number(this.statements.addCollection.run(collection).lastInsertRowid);
    this.keys.set(collection, key);
    this.added.push(collection);
    return key;
  }

  private atomically(work: () => void): void {
    this.added.length = 0;
    this.database.exec('BEGIN');
    try {
      work();
      this.database.exec('COMMIT');
    } catch (error) {
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      for (const path of this.added) this.keys.delete(path);
      throw error;
    }
  }
}

function prepare(database: DatabaseSync): void {
  // The log is folded into the file every 16 MB rather than every 4: each time, the medium makes a commit wait.
  database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000`);
  // The first write takes the lock, and the exclusive mode keeps it until the file is closed.
  database.exec('BEGIN EXCLUSIVE');
  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  const empty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (empty) {
    database.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`);
  } else if (pragma('application_id') !== APPLICATION_ID) {
    throw new Error('its firestore.sqlite belongs to another program');
  } else if (pragma('user_version') !== VERSION) {
    throw new Error(`its data has version ${pragma('user_version')}, and this server reads version ${VERSION}`);
  }
  database.exec('COMMIT');
}

/** SQLite's primary result codes that have a meaning to whoever started the server. */
const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

function explain(error: unknown, folder: string): Error {
  const code = (error as { errcode?: number }).errcode;
  const primary = code === undefined ? undefined : code & 0xff;
  const remedy = 'Move the folder away, or choose another, to start with an empty database.';
  if (primary === BUSY) {
    return new Error(`The data folder ${folder} is in use by another server. Stop that one, or choose another folder.`);
  }
  if (primary === CORRUPT || primary === NOT_A_DATABASE) {
    return new Error(`The data folder ${folder} is damaged: ${(error as Error).message}. ${remedy}`, { cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The data folder ${folder} cannot be used: ${reason}. ${remedy}`, { cause: error });
}
