import { setTimeout as sleep } from 'node:timers/promises';
import type { CommittedChange, EndedCall } from '../src';
import { databaseName, rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());
afterEach(() => bench.server.faults.clear());

const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;

describe('a fault', () => {
  it('applies to the matching calls, by position and number, before they have any effect', async () => {
    const db = bench.client();
    const fault = bench.server.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.some(({ name }) => name.endsWith('/b/1')),
      nth: 2,
      times: 2,
      action: { kind: 'error', code: 'DEADLINE_EXCEEDED', message: 'too late' },
    });
    await db.doc('b/1').set({ n: 1 });
    await db.doc('a/1').set({ n: 1 });
    for (const n of [2, 3]) {
      expect(await rejection(db.doc('b/1').set({ n }))).toMatchObject({ code: DEADLINE_EXCEEDED, details: 'too late' });
    }
    expect((await db.doc('b/1').get()).get('n')).toBe(1);
    await db.doc('b/1').set({ n: 4 });
    expect(fault.count).toBe(2);
    expect((await fault.fired).rpc).toBe('Commit');
  });

  it('closes the connection, and the SDK opens another', async () => {
    const db = bench.client();
    const before = bench.server.faults.inject({ rpc: 'Commit', action: { kind: 'drop' } });
    const outcome = await db
      .doc('a/1')
      .set({ n: 1 })
      .then(
        () => 'done',
        (error: unknown) => (error as { code: number }).code,
      );
    expect(before.count).toBe(1);
    expect(['done', 13, UNAVAILABLE]).toContain(outcome);
    await db.doc('a/1').set({ n: 2 });
    bench.server.faults.inject({ rpc: 'Commit', when: 'after', action: { kind: 'drop' } });
    await db
      .doc('a/2')
      .set({ n: 3 })
      .catch(() => undefined);
    expect((await db.doc('a/2').get()).get('n')).toBe(3);
  });

  it('delays a call, or holds it until the test releases it', async () => {
    const db = bench.client();
    bench.server.faults.inject({ rpc: 'Commit', action: { kind: 'delay', ms: 150 } });
    const start = performance.now();
    await db.doc('a/1').set({});
    expect(performance.now() - start).toBeGreaterThan(140);

    const gate = Promise.withResolvers<undefined>();
    const held = bench.server.faults.inject({ rpc: 'Commit', action: { kind: 'call', run: () => gate.promise } });
    let done = false;
    const write = db
      .doc('a/2')
      .set({})
      .then(() => (done = true));
    await held.fired;
    await sleep(50);
    expect(done).toBe(false);
    expect((await db.doc('a/2').get()).exists).toBe(false);
    gate.resolve(undefined);
    await write;
  });

  it('leaves a call without a response until the client reaches its deadline', async () => {
    const db = bench.client();
    const database = databaseName(db);
    bench.server.faults.inject({ rpc: 'Commit', when: 'after', action: { kind: 'hang' } });
    const writes = [{ update: { name: `${database}/documents/a/1`, fields: {} } }];
    const commit = bench.raw().commit({ database, writes }, { timeout: 300 });
    expect(await rejection(commit)).toMatchObject({ code: DEADLINE_EXCEEDED });
    expect((await db.doc('a/1').get()).exists).toBe(true);
  });
});

describe('observation', () => {
  it('reports and counts every call', async () => {
    const db = bench.client('observed');
    const calls: EndedCall[] = [];
    const counted = bench.server.counts().Commit;
    const stop = bench.server.observe((call) => calls.push(call));
    await db.doc('a/1').set({ status: 'ready' });
    await rejection(db.doc('a/1').create({}));
    await db.doc('a/1').get();
    stop();
    await db.doc('a/1').set({});
    expect(calls.map(({ rpc, project, outcome }) => [rpc, project, outcome])).toEqual([
      ['Commit', 'observed', 'OK'],
      ['Commit', 'observed', 'ALREADY_EXISTS'],
      ['BatchGetDocuments', 'observed', 'OK'],
    ]);
    const [first] = calls;
    expect(first?.rpc === 'Commit' && first.request).toMatchObject({
      writes: [
        {
          kind: 'update',
          name: expect.stringMatching(/\/documents\/a\/1$/) as unknown,
          fields: new Map([['status', 'ready']]),
        },
      ],
    });
    expect(bench.server.counts().Commit - counted).toBe(3);
  });

  it('reports every commit as it takes effect, also one of which the client does not get to know', async () => {
    const db = bench.client('committed');
    const commits: (readonly CommittedChange[])[] = [];
    const stop = bench.server.observeCommits((changes) => commits.push(changes));
    await db.doc('a/1').set({ n: 1, kept: true });
    bench.server.faults.inject({ rpc: 'Commit', when: 'after', action: { kind: 'error', code: 'INTERNAL' } });
    await rejection(db.batch().update(db.doc('a/1'), { n: 2 }).create(db.doc('a/2'), {}).commit());
    await rejection(db.batch().delete(db.doc('a/1')).create(db.doc('a/2'), {}).commit());
    await db.doc('a/1').delete();
    stop();
    await db.doc('a/1').set({});
    const [first, second] = ['1', '2'].map((id) => `projects/committed/databases/(default)/documents/a/${id}`);
    const versions = [1n, 2n].map((n) => new Map<string, unknown>(Object.entries({ kept: true, n })));
    expect(commits.map((changes) => changes.map(({ name, before, after }) => [name, before, after]))).toEqual([
      [[first, undefined, versions[0]]],
      [
        [first, ...versions],
        [second, undefined, new Map()],
      ],
      [[first, versions[1], undefined]],
    ]);
  });
});
