import { Firestore } from 'firebase-admin/firestore';
import {
  startFirestore,
  type EmbeddedFirestore,
  type EndedCall,
  type Rpc,
} from '../../../packages/firestore-local/src';
import { CALL_TIMEOUTS_MS, type CallTimeouts } from '../../src/lib/time-limits';
import { configureClient, createDatabase } from '../../src/lib/firestore/database';
import { createRequestContext } from '../../src/lib/request-context';
import { useFirestoreEmulator } from '../support/firestore';

/** Every call has a deadline that holds against real silence, and no call is retried inside the transport. */

const deadlines: CallTimeouts = { read: 600, commit: 300, query: 300 };

const PROJECT = 'deadlines';

let embedded: EmbeddedFirestore;
let db: Firestore;
/** With the service's own deadlines: a busy machine takes longer than the short ones, even where nothing is silent. */
let patientDb: Firestore;

beforeAll(async () => {
  embedded = await startFirestore();
  useFirestoreEmulator(embedded.address, PROJECT);
  db = new Firestore({ projectId: PROJECT });
  configureClient(db, deadlines);
  patientDb = new Firestore({ projectId: PROJECT });
  configureClient(patientDb, CALL_TIMEOUTS_MS);
});

afterAll(async () => {
  await db.terminate();
  await patientDb.terminate();
  await embedded.close();
});

const createRequestDatabase = (client: Firestore, timeouts: CallTimeouts) =>
  createDatabase(client, createRequestContext(new AbortController().signal), timeouts);

const database = () => createRequestDatabase(db, deadlines);
const patientDatabase = () => createRequestDatabase(patientDb, CALL_TIMEOUTS_MS);

interface Tried {
  rpc: Rpc;
  call: () => Promise<unknown>;
  deadlineMs: number;
}

const createCommits = (getDatabase: typeof database, deadlineMs: number): Record<string, Tried> => ({
  commit: {
    rpc: 'Commit',
    call: () => getDatabase().commit((writes) => writes.set(db.doc('a/b'), { c: 1 })),
    deadlineMs,
  },
  'commit of entries': {
    rpc: 'Commit',
    call: () =>
      getDatabase().commitPriceEntries({ collection: 'a', field: 'c', ids: ['b'], prices: Float64Array.of(1) }),
    deadlineMs,
  },
});

const commits = createCommits(database, deadlines.commit);
const patientCommits = createCommits(patientDatabase, CALL_TIMEOUTS_MS.commit);
const calls: Record<string, Tried> = {
  read: { rpc: 'BatchGetDocuments', call: () => database().getAll(db.doc('a/b')), deadlineMs: deadlines.read },
  ...commits,
};

/** Opens both connections, which on a busy machine may take longer than the deadline of a call. */
async function connect(): Promise<void> {
  for (;;) {
    try {
      await commits['commit of entries']?.call();
      await db.getAll(db.doc('a/b'));
      return;
    } catch (error) {
      if ((error as { code?: number }).code !== 4) throw error;
    }
  }
}

test.each(Object.entries(calls))('a silent %s fails within its deadline', async (_, { rpc, call, deadlineMs }) => {
  await connect();
  embedded.faults.inject({ rpc, times: 100, action: { kind: 'hang' } });
  const startedAt = performance.now();
  await expect(call()).rejects.toMatchObject({ code: 4 });
  const tookMs = performance.now() - startedAt;
  embedded.faults.clear();
  expect(tookMs).toBeGreaterThan(deadlineMs * 0.9);
  expect(tookMs).toBeLessThan(deadlineMs + 1_000);
});

test.each(Object.entries(commits))('a silent %s is not sent again', async (_, { call }) => {
  const before = embedded.counts().Commit;
  embedded.faults.inject({ rpc: 'Commit', times: 100, action: { kind: 'hang' } });
  await expect(call()).rejects.toMatchObject({ code: 4 });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  embedded.faults.clear();
  expect(embedded.counts().Commit - before).toBe(1);
});

const codes = ['UNAVAILABLE', 'ABORTED', 'RESOURCE_EXHAUSTED'] as const;

test.each(
  Object.entries(patientCommits).flatMap(([name, { call }]) => codes.map((code) => [name, code, call] as const)),
)('a %s that fails with %s is sent once', async (_, code, call) => {
  const ended: EndedCall[] = [];
  const stop = embedded.observe((each) => ended.push(each));
  embedded.faults.inject({ rpc: 'Commit', times: 100, action: { kind: 'error', code } });
  await expect(call()).rejects.toThrow(code);
  embedded.faults.clear();
  stop();
  expect(ended.map(({ rpc, outcome }) => [rpc, outcome])).toEqual([['Commit', code]]);
});
