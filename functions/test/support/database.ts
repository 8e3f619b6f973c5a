import { Firestore } from 'firebase-admin/firestore';
import type { EndedCall } from '../../../packages/firestore-local/src';
import type { FirestoreFront } from '../../../packages/firestore-local/src/internal';
import { configureClient, createDatabase, type Database } from '../../src/lib/firestore/database';
import { createRequestContext, type RequestContext } from '../../src/lib/request-context';
import { ManualClock } from './clock';
import { readDeclaredIndexes } from './declared-indexes';
import { TEST_PROJECT, createCallRecorder, startTestFirestore, useFirestoreEmulator } from './firestore';

/** When each test begins. */
export const TEST_START = Date.UTC(2026, 5, 1);

/** The database of the tests of a module, without functions in front of it. */
export interface TestDatabase {
  /** To fill the database, and to look at it. */
  client: Firestore;
  /** The same database from within: where faults are injected. */
  firestore: FirestoreFront;
  /** Stands at {@link TEST_START} until a test or a sleep moves it. */
  clock: ManualClock;
  /** The calls that reach the database from now until the next {@link TestDatabase.reset}. */
  recordCalls: () => EndedCall[];
  /** The database and the context of a request: tokens are `owner-1`, `owner-2`, and pauses are the shortest. */
  open: (changed?: Partial<RequestContext>) => { db: Database; context: RequestContext };
  /** Empties the database and takes back faults and time. To be called before each test. */
  reset: () => void;
}

/** Starts a Firestore before the tests of a file, and closes it after the last. */
export function useTestDatabase(): TestDatabase {
  const database = {} as TestDatabase;
  let recorder: ReturnType<typeof createCallRecorder>;
  let tokens = 0;
  beforeAll(async () => {
    const firestore = await startTestFirestore(readDeclaredIndexes());
    useFirestoreEmulator(firestore.address, TEST_PROJECT);
    const client = configureClient(new Firestore({ projectId: TEST_PROJECT }));
    recorder = createCallRecorder(firestore);
    Object.assign(database, { client, firestore, recordCalls: recorder.record });
  });
  afterAll(async () => {
    await database.client.terminate();
    await database.firestore.close();
  });
  return Object.assign(database, {
    open: (changed: Partial<RequestContext> = {}) => {
      const context: RequestContext = {
        ...createRequestContext(new AbortController().signal),
        clock: database.clock,
        random: () => 0,
        newToken: () => `owner-${(tokens += 1)}`,
        ...changed,
      };
      return { db: createDatabase(database.client, context), context };
    },
    reset: () => {
      recorder.stop();
      database.firestore.faults.clear();
      database.firestore.clear();
      database.clock = new ManualClock(TEST_START);
      tokens = 0;
    },
  });
}
