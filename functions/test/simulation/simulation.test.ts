import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { configureClient } from '../../src/lib/firestore/database';
import { replaceSizes } from '../resilience/calls';
import { useFirestoreEmulator } from '../support/firestore';
import { BREAKS } from './breaks';
import { InvariantViolation, runSchedule } from './schedule';
import { virtualTime, type BrokenParts } from './world';

/**
 * Runs schedules one after another, each against an empty embedded Firestore. By default they are
 * always the same, so a failure comes from the change under test. `SIMULATION_SCHEDULES` sets how
 * many run, `SIMULATION_SEED` the first seed. A failure prints its trace and the command that repeats it.
 */

const DEFAULT_SCHEDULES = 100;
const schedules = Number(process.env['SIMULATION_SCHEDULES'] ?? DEFAULT_SCHEDULES);
const firstSeed = Number(process.env['SIMULATION_SEED'] ?? 1);

/** The results that the default schedules must include, so that they exercise every rule of the model. */
const RESULTS = [
  'creation_failed',
  'idempotency_key_reused',
  'lease renewed',
  'lost',
  'operator rejected',
  'released',
  'replayed',
  'request_in_progress',
  'resumed',
  'review_required',
  'stored',
  'sweep deferred',
  'sweep left',
  'sweep resumed',
  'sweep would_resume',
  'unexpected',
];

const PROJECT = 'simulation';

/** Small enough that a handful of products needs several batches and several chunks, some of them beyond the claim. */
const COMMIT_SIZES = { MAX_ENTRIES_PER_COMMIT: 3, MAX_CHUNK_BYTES: 90, MAX_CLAIM_CHUNKS: 2 };

let embedded: EmbeddedFirestore;
let db: Firestore;

beforeAll(async () => {
  // The Firestore SDK captures a stack trace for each call. Short traces save time.
  Error.stackTraceLimit = 1;
  replaceSizes(COMMIT_SIZES);
  embedded = await startFirestore({ clock: () => virtualTime.now });
  useFirestoreEmulator(embedded.address, PROJECT);
  db = configureClient(new Firestore({ projectId: PROJECT }));
});

afterAll(async () => {
  await db.terminate();
  await embedded.close();
});

function run(seed: number, broken?: BrokenParts) {
  embedded.clear();
  return runSchedule(seed, db, embedded, broken);
}

test(`${schedules} schedules from seed ${firstSeed} violate nothing`, async () => {
  const results = new Set<string>();
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    try {
      for (const result of (await run(seed)).results) results.add(result);
    } catch (error) {
      if (!(error instanceof InvariantViolation)) throw error;
      const command = `SIMULATION_SEED=${seed} SIMULATION_SCHEDULES=1 npx jest functions/test/simulation -t violate`;
      throw new Error(`${error.trace.join('\n')}\n\n${error.message}\n${command}`, { cause: error });
    }
  }
  if (schedules >= DEFAULT_SCHEDULES) expect([...results].sort()).toEqual(RESULTS);
}, 86_400_000);

test('the same seed makes the same schedule, to the last call', async () => {
  for (let seed = 1; seed <= 4; seed += 1) {
    const { trace } = await run(seed);
    expect((await run(seed)).trace).toEqual(trace);
  }
});

describe('a service that is broken on purpose', () => {
  test.each(Object.entries(BREAKS))('%s is caught', async (_, { caught, ...broken }) => {
    const runSchedules = async () => {
      for (let seed = 1; seed <= DEFAULT_SCHEDULES; seed += 1) await run(seed, broken);
    };
    const violation: unknown = await runSchedules().catch((error: unknown) => error);
    expect(violation).toBeInstanceOf(InvariantViolation);
    expect(violation).toMatchObject({ message: expect.stringMatching(caught) as string });
  });
});
