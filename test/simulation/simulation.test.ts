import { gunzipSync, type ZlibOptions } from 'node:zlib';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../emulator/src';
import { configureClient } from '../../functions/src/lib/firestore/database';
import { useFirestoreEmulator } from '../harness/firestore';
import { InvariantViolation, runSchedule } from './schedule';
import { virtualTime } from './world';

/**
 * Runs schedules one after another, each against an empty embedded Firestore. By default they are
 * always the same, so a failure comes from the change under test. `SIMULATION_SCHEDULES` sets how
 * many the first test runs, and `SIMULATION_SEED` its first seed. If a schedule of that test fails, the test prints
 * the trace and the command that repeats the schedule.
 */

const getSeeds = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

const seeds = getSeeds(Number(process.env['SIMULATION_SEED'] ?? 1), Number(process.env['SIMULATION_SCHEDULES'] ?? 28));

const PROJECT = 'simulation';

/** Inflates without zlib's thread, so that the text is ready before the simulation continues another process. */
function inflate(packed: Buffer, options: ZlibOptions, callback: (error: null, text: Buffer) => void): void {
  callback(null, gunzipSync(packed, options));
}

jest.mock('node:zlib', () => ({ ...jest.requireActual<object>('node:zlib'), gunzip: inflate }));

let embedded: EmbeddedFirestore;
let db: Firestore;

beforeAll(async () => {
  // The Firestore SDK captures a stack trace for each call. Short traces save time.
  Error.stackTraceLimit = 1;
  embedded = await startFirestore({ clock: () => virtualTime.now });
  useFirestoreEmulator(embedded.address, PROJECT);
  db = configureClient(new Firestore({ projectId: PROJECT }));
});

afterAll(async () => {
  await db.terminate();
  await embedded.close();
});

function run(seed: number) {
  embedded.clear();
  return runSchedule(seed, db, embedded);
}

test(`${seeds.length} schedules from seed ${seeds[0]} violate no invariant`, async () => {
  for (const seed of seeds) {
    try {
      await run(seed);
    } catch (error) {
      if (!(error instanceof InvariantViolation)) throw error;
      const command = `SIMULATION_SEED=${seed} SIMULATION_SCHEDULES=1 npx jest test/simulation -t violate`;
      throw new Error(`${error.trace.join('\n')}\n\n${error.message}\n${command}`, { cause: error });
    }
  }
}, 86_400_000);

test('the same seed makes the same schedule, to the last call', async () => {
  const trace = await run(4);
  expect(await run(4)).toEqual(trace);
});
