import { Firestore } from 'firebase-admin/firestore';
import type { Code, EndedCall, FaultAction, Rpc } from '../../../../../emulator/src';
import { configureClient, Database } from '../../../../src/lib/firestore/database';
import { retry } from '../../../../src/lib/firestore/retry';
import { createWorkContext } from '../../../../src/lib/work-context';
import { CALL_TIMEOUTS_MS } from '../../../../src/lib/time-limits';
import { useTestDatabase } from '../../../../../test/harness/database';
import { TEST_PROJECT } from '../../../../../test/harness/firestore';
import { waitFor } from '../../../../../test/harness/wait-for';

/** A call without a response fails at its timeout, and neither the SDK nor the transport repeats a call. */

const SHORT_MS = { read: 400, commit: 300, query: 600 };
const PATIENT_MS = { ...CALL_TIMEOUTS_MS };

const database = useTestDatabase();

afterEach(() => {
  database.firestore.faults.clear();
  Object.assign(CALL_TIMEOUTS_MS, PATIENT_MS);
});

const open = (firestore = database.client) => new Database(firestore, createWorkContext(new AbortController().signal));

interface Tried {
  rpc: Rpc;
  timeout: keyof typeof CALL_TIMEOUTS_MS;
  call: (db: Database) => Promise<unknown>;
}

const CALLS: Record<string, Tried> = {
  read: { rpc: 'BatchGetDocuments', timeout: 'read', call: (db) => db.getAll(db.firestore.doc('a/b')) },
  query: { rpc: 'RunQuery', timeout: 'read', call: (db) => db.get(db.firestore.collection('a')) },
  count: {
    rpc: 'RunAggregationQuery',
    timeout: 'query',
    call: (db) => db.count(db.firestore.collection('a'), CALL_TIMEOUTS_MS.query),
  },
  commit: {
    rpc: 'Commit',
    timeout: 'commit',
    call: (db) => db.commit((writes) => writes.set(db.firestore.doc('a/b'), { c: 1 })),
  },
};

const SAYS = 'what Firestore says';

const fails = (code: Code, number: number): Failure => [
  code,
  { kind: 'error', code, message: SAYS },
  number,
  `${number} ${code}: ${SAYS}`,
];

type Failure = [outcome: EndedCall['outcome'], action: FaultAction, code: number, message: string];

const FAILURES: Failure[] = [
  fails('DEADLINE_EXCEEDED', 4),
  fails('UNAVAILABLE', 14),
  fails('PERMISSION_DENIED', 7),
  ['DROPPED', { kind: 'drop' }, 14, '14 UNAVAILABLE: Connection dropped'],
];

describe.each(Object.entries(CALLS))('a %s', (_, { rpc, timeout, call }) => {
  test('without a response fails at its timeout', async () => {
    // The first call loads parts of the SDK, which on a busy machine can take longer than a short timeout.
    await call(open());
    Object.assign(CALL_TIMEOUTS_MS, SHORT_MS);
    // Only a new client has the short deadlines.
    const impatient = configureClient(new Firestore({ projectId: TEST_PROJECT }));
    database.firestore.faults.inject({ rpc, times: 100, action: { kind: 'hang' } });
    const startedAt = performance.now();
    await expect(call(open(impatient))).rejects.toMatchObject({ code: 4 });
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(SHORT_MS[timeout] * 0.9);
    // The timeouts of the SDK are at least a minute.
    expect(tookMs).toBeLessThan(SHORT_MS[timeout] + 8_000);
    await impatient.terminate();
  });

  test.each(FAILURES)('that ends with %s is sent once, and throws the error', async (name, action, code, message) => {
    await call(open());
    const ended: EndedCall[] = [];
    const stop = database.firestore.observe((each) => ended.push(each));
    database.firestore.faults.inject({ rpc, times: 100, action });
    await expect(call(open())).rejects.toMatchObject({ code, message });
    stop();
    expect(ended.map(({ rpc: ran, outcome }) => [ran, outcome])).toEqual([[rpc, name]]);
  });
});

test.each(['read', 'query', 'count'])(
  'a %s fails at the timeout of the service if the SDK never settles it',
  async (name) => {
    Object.assign(CALL_TIMEOUTS_MS, { read: 50, query: 50 });
    const never = () => new Promise<never>(() => undefined);
    const query = { get: never, count: () => query };
    const firestore = { getAll: never, collection: () => query, doc: () => query };
    await expect(CALLS[name]?.call(open(firestore as unknown as Firestore))).rejects.toMatchObject({ code: 4 });
  },
);

test.each(Object.entries(CALLS))(
  'a %s is not sent after the signal of its database has aborted',
  async (_, { call }) => {
    const stop = new AbortController();
    const db = new Database(database.client, createWorkContext(stop.signal));
    const calls = database.recordCalls();
    stop.abort(new Error('nobody waits'));
    await expect(call(db)).rejects.toThrow('nobody waits');
    const other = db.until(new AbortController().signal);
    await call(other);
    expect([calls.length, db.context.counters.firestoreCalls]).toEqual([1, 1]);
  },
);

test('a retried function makes no further call after its signal has aborted', async () => {
  const stop = new AbortController();
  const db = new Database(database.client, createWorkContext(stop.signal));
  const document = db.firestore.doc('a/b');
  const run = () => stop.abort(new Error('nobody waits'));
  database.firestore.faults.inject({ rpc: 'BatchGetDocuments', action: { kind: 'call', run } });
  let isOver = false;
  const readAndWrite = async () => {
    await db.getAll(document);
    await db.commit((writes) => writes.set(document, {})).finally(() => (isOver = true));
  };
  const calls = database.recordCalls();
  await expect(retry(readAndWrite, db.context, 'outage')).rejects.toThrow('nobody waits');
  await waitFor(() => isOver);
  expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments']);
});

test('a commit writes all or nothing, and counts as one call', async () => {
  const context = createWorkContext(new AbortController().signal);
  const db = new Database(database.client, context);
  const [first, second] = [database.client.doc('all/first'), database.client.doc('all/second')];
  await second.set({});
  const committed = db.commit((writes) => writes.set(first, {}).create(second, {}));
  await expect(committed).rejects.toMatchObject({ code: 6 });
  expect((await first.get()).exists).toBe(false);
  expect(context.counters.firestoreCalls).toBe(1);
});
