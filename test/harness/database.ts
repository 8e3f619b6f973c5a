import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../emulator/src';
import { configureClient, Database } from '../../functions/src/lib/firestore/database';
import { createWorkContext, WRITE_SIZES, type WorkContext } from '../../functions/src/lib/work-context';
import { TEST_BATCH } from './batches';
import { ManualClock } from './clock';
import { readDeclaredIndexes, recordCalls, TEST_PROJECT, useFirestoreEmulator } from './firestore';

/** The time of the clock when a test begins, in Unix milliseconds. */
export const TEST_START = Date.UTC(2026, 5, 1);

/** The database of a test file, without functions in front of it. */
export type TestDatabase = ReturnType<typeof useTestDatabase>;

interface Started {
  /** The time of Firestore and of the process. Starts at {@link TEST_START}, and only a test or a sleep advances it. */
  clock: ManualClock;
  client: Firestore;
  /** The server of this database, which can inject faults. */
  firestore: EmbeddedFirestore;
}

/** Starts a Firestore before the tests of a file, and closes it after the last. */
export function useTestDatabase() {
  const database = { clock: new ManualClock(TEST_START) } as Started;
  let tokens = 0;
  beforeAll(async () => {
    // The tests need the embedded Firestore, because only it accepts a clock.
    const firestore = await startFirestore({ indexes: readDeclaredIndexes(), clock: () => database.clock.now() });
    useFirestoreEmulator(firestore.address, TEST_PROJECT);
    const client = configureClient(new Firestore({ projectId: TEST_PROJECT }));
    Object.assign(database, { client, firestore });
  });
  afterAll(async () => {
    await database.client.terminate();
    await database.firestore.close();
  });
  return Object.assign(database, {
    /** Opens the database with the context of a request. Tokens are `owner-1`, `owner-2` and so on, batches are small, and pauses are the shortest possible. */
    open: (changed: Partial<WorkContext> = {}) => {
      const context: WorkContext = {
        ...createWorkContext(new AbortController().signal),
        clock: database.clock,
        random: () => 0,
        newToken: () => `owner-${(tokens += 1)}`,
        sizes: { ...WRITE_SIZES, batchEntries: TEST_BATCH },
        ...changed,
      };
      return { db: new Database(database.client, context), context };
    },
    /** Records the calls that end from now on. */
    recordCalls: () => recordCalls(database.firestore),
    /** Empties the database, removes faults and resets the clock. Belongs in a `beforeEach`. */
    reset: () => {
      database.firestore.faults.clear();
      database.clock = new ManualClock(TEST_START);
      database.firestore.clear();
      tokens = 0;
    },
  });
}
