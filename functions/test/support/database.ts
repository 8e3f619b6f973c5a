import { Firestore } from 'firebase-admin/firestore';
import type { EndedCall } from '../../../packages/firestore-local/src';
import type { FirestoreFront } from '../../../packages/firestore-local/src/internal';
import { configureClient, createDatabase, type Database } from '../../src/lib/firestore/database';
import { createRequestContext, type RequestContext } from '../../src/lib/request-context';
import { ManualClock } from './clock';
import { readDeclaredIndexes } from './declared-indexes';
import { TEST_PROJECT, createCallRecorder, startTestFirestore, useFirestoreEmulator } from './firestore';

/** The time of the clock when a test begins, in Unix milliseconds. */
export const TEST_START = Date.UTC(2026, 5, 1);

/** The database of module tests, without functions in front of it. */
export interface TestDatabase {
  /** The client with which a test fills and checks the database. */
  client: Firestore;
  /** The server of this database, which can inject faults. */
  firestore: FirestoreFront;
  /** Starts at {@link TEST_START}. Only a test or a sleep advances it. */
  clock: ManualClock;
  /** Records the calls that end from now until the next {@link TestDatabase.reset}. */
  recordCalls: () => EndedCall[];
  /** Opens the database with the context of a request. Tokens are `owner-1`, `owner-2` and so on, and pauses are the shortest possible. */
  open: (changed?: Partial<RequestContext>) => { db: Database; context: RequestContext };
  /** Empties the database, removes faults and resets the clock. Call it before each test. */
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
