import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { status } from '@grpc/grpc-js';
import { startFirestore } from '../src';
import { SqliteStorage } from '../src/storage/sqlite-storage';
import { commit, times, update } from './conformance/calls';
import { connect as connectRaw } from './conformance/protocol';
import { runSequence } from './conformance/sequence';
import { rejection, spawnServer, startFirestoreTestServer } from './support';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'firestore-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the data folder', () => {
  it('is named in the error of a full disk, and takes commits again once the disk has space', () => {
    const storage = SqliteStorage.open(folder);
    const { database } = storage as unknown as { database: DatabaseSync };
    const limit = (pages: number) => database.exec(`PRAGMA max_page_count = ${pages}`);
    const doc = { collection: 'a', id: '1', fields: Buffer.alloc(1_000_000), createTime: 1, updateTime: 1, row: 0 };
    const commit = () => storage.commit([{ collection: 'a', id: '1', old: undefined, doc }], 1);
    limit(1);
    expect(commit).toThrow(`the data folder ${folder} is on a full disk`);
    limit(1_000_000);
    commit();
    expect([...storage.readAll()]).toHaveLength(1);
    storage.close();
  });

  it('keeps neither documents nor the time of the last commit after it is cleared', () => {
    const storage = SqliteStorage.open(folder);
    const doc = { collection: 'a', id: '1', fields: Buffer.of(), createTime: 1, updateTime: 1, row: 0 };
    storage.commit([{ collection: 'a', id: '1', old: undefined, doc }], 7);
    storage.clear();
    storage.close();
    const reopened = SqliteStorage.open(folder);
    expect([[...reopened.readAll()], reopened.lastTime]).toEqual([[], 0]);
    reopened.close();
  });

  it('makes a commit fail if it cannot store the commit, with the reason and a status that no client retries', async () => {
    const server = await startFirestoreTestServer({ dataDir: folder });
    const printed = jest.spyOn(console, 'error').mockReturnValue(undefined);
    jest.spyOn(SqliteStorage.prototype, 'commit').mockImplementationOnce(() => {
      throw new Error('the data folder is on a full disk');
    });
    const answer = await rejection(server.client('full').doc('a/1').set({}));
    expect(answer).toMatchObject({
      code: status.DATA_LOSS,
      message: expect.stringContaining('on a full disk') as string,
    });
    printed.mockRestore();
    await server.client('full').doc('a/1').set({});
    await server.close();
  });

  it('keeps documents and their update times across a restart, and later commits have later times', async () => {
    // The clock of the second server is behind that of the first.
    const first = await startFirestoreTestServer({ dataDir: folder, clock: () => 2_000_000 });
    const db = first.client('kept');
    await db.doc('a/1').set({ n: 1, ü: '😀', bytes: Buffer.alloc(10_000, 1) });
    await db.doc('a/2').set({ n: 2 });
    await db.doc('a/2').delete();
    await db.doc('a/1/sub/x').set({});
    const before = await db.doc('a/1').get();
    await first.close();

    const second = await startFirestoreTestServer({ dataDir: folder, clock: () => 1_000_000 });
    const again = second.client('kept');
    expect((await again.listCollections()).map(({ id }) => id)).toEqual(['a']);
    const after = await again.doc('a/1').get();
    expect(after.data()).toEqual(before.data());
    expect(after.updateTime).toEqual(before.updateTime);
    expect((await again.collectionGroup('sub').get()).size).toBe(1);
    const { writeTime } = await again.doc('a/1').update({ n: 2 });
    expect(writeTime.toMillis()).toBe(2_000_000);
    expect(writeTime.valueOf() > (after.updateTime?.valueOf() ?? '')).toBe(true);
    await second.close();
  });

  it('is created with access for its owner only', async () => {
    const dataDir = join(folder, 'new', 'data');
    const firestore = await startFirestoreTestServer({ dataDir });
    await firestore.client('private').doc('a/1').set({});
    const files = ['', 'firestore.sqlite', 'firestore.sqlite-wal'].map((name) => join(dataDir, name));
    expect(files.map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(['700', '600', '600']);
    await firestore.close();
  });

  it('keeps every acknowledged commit, and no partial one, when the server is killed (SIGKILL)', async () => {
    // A commit runs 21 statements: one for each write, and one for the clock. The server ends in the middle of the 51st commit.
    const kill = `const { StatementSync } = require('node:sqlite'), { run } = StatementSync.prototype; let left = 1_060;
      StatementSync.prototype.run = function () {
        return left-- > 0 ? run.apply(this, arguments) : process.kill(process.pid, 'SIGKILL');
      };`;
    const { process: child, address } = await spawnServer({ dataDir: folder }, kill);
    const exited = once(child, 'exit');
    const client = connectRaw(address);
    for (let id = 0; id <= 50; id++) {
      const writes = times(20, (i) => update(`c${i}/${id}`));
      const [answer] = await runSequence(client, 'projects/disk/databases/(default)', [commit(...writes)]);
      expect([id, answer?.code === 0]).toEqual([id, id < 50]);
    }
    await exited;
    client.close();

    // This server can open the folder, because SQLite's lock ended with the killed process.
    const survivor = await startFirestoreTestServer({ dataDir: folder });
    const again = survivor.client('disk');
    const counts = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => (await again.collection(`c${i}`).count().get()).data().count),
    );
    expect(counts).toEqual(times(20, () => 50));
    await survivor.close();
  });

  it('is used by one server at a time: a second one does not start, and its error says what to do', async () => {
    const first = await startFirestore({ dataDir: folder });
    expect((await rejection(startFirestore({ dataDir: folder }))).message).toBe(
      `the data folder ${folder} is in use: stop the program that uses it, or choose another folder.`,
    );
    await first.close();
  });

  it('is rejected with the reason and the way out if it is a file, is damaged, or belongs to another version or program', async () => {
    const file = join(folder, 'firestore.sqlite');
    const wayOut = 'move it away, or choose another folder, to start empty.';
    writeFileSync(file, 'this is not a database, in spite of its name'.repeat(100));
    expect((await rejection(startFirestore({ dataDir: folder }))).message).toBe(
      `the data folder ${folder} cannot be used, because file is not a database: ${wayOut}`,
    );
    rmSync(file);
    await (await startFirestore({ dataDir: folder })).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 99');
    database.close();
    expect((await rejection(startFirestore({ dataDir: folder }))).message).toBe(
      `the data folder ${folder} cannot be used, because it was written by another version (format 99; this version reads ` +
        `format 2): ${wayOut}`,
    );
    rmSync(file);
    const other = new DatabaseSync(file);
    other.exec('CREATE TABLE other (x)');
    other.close();
    expect((await rejection(startFirestore({ dataDir: folder }))).message).toBe(
      `the data folder ${folder} cannot be used, because its firestore.sqlite belongs to another program: ${wayOut}`,
    );
    rmSync(file);
    writeFileSync(join(folder, 'a file'), '');
    const noFolder = join(folder, 'a file');
    expect((await rejection(startFirestore({ dataDir: noFolder }))).message).toMatch(
      new RegExp(`^the data folder ${noFolder} cannot be used, because .*${wayOut}$`),
    );
  });

  it('has the settings with which SQLite stays consistent after a loss of power', () => {
    const storage = SqliteStorage.open(folder);
    const database = Reflect.get(storage, 'database') as DatabaseSync;
    const readPragma = (name: string): unknown => database.prepare(`PRAGMA ${name}`).get()?.[name];
    // 1 is NORMAL: https://sqlite.org/pragma.html#pragma_synchronous
    expect([readPragma('journal_mode'), readPragma('synchronous')]).toEqual(['wal', 1]);
    storage.close();
  });

  it('is refused if its name is empty', async () => {
    expect((await rejection(startFirestore({ dataDir: '' }))).message).toContain('the data folder has an empty name');
  });
});
