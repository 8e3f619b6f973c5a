import { Duplex, Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { configureClient } from '../../src/lib/firestore/database';
import * as repository from '../../src/lib/repositories/price-lists';
import { KeyStore } from '../../src/price-lists/key-store';
import { replaceSizes } from '../resilience/calls';
import { useFirestoreEmulator } from '../support/firestore';
import { BREAKS } from './breaks';
import { InvariantViolation, runSchedule } from './schedule';
import { virtualTime, type BrokenParts } from './world';

/**
 * Runs schedules one after another, each against an empty embedded Firestore. By default they are
 * always the same, so a failure comes from the change under test. `SIMULATION_SCHEDULES` sets how
 * many run, and with it `SIMULATION_SEED` the first seed. A failure prints its trace and the command that repeats it.
 */

const getSeeds = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

/** The last three seeds reach rare results. */
const DEFAULT_SEEDS = [...getSeeds(1, 25), 45, 70, 89];

const schedules = process.env['SIMULATION_SCHEDULES'];
const seeds =
  schedules === undefined ? DEFAULT_SEEDS : getSeeds(Number(process.env['SIMULATION_SEED'] ?? 1), Number(schedules));

/** How many schedules may run until one of them shows a break. The first one does, unless a change moved its calls. */
const SCHEDULES_PER_BREAK = 100;

/** The results that the default schedules must include, so that they exercise every rule of the model. */
const RESULTS = [
  'creation_failed',
  'idempotency_key_reused',
  'lease renewed',
  'lost',
  'operator crashed after a take-over',
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
  'two resumes at once',
  'unexpected',
];

/** What the default schedules must also reach, each with the text that the trace or an event then has. */
const REACHED = {
  'a crash at the clearing commit': /clearing commit: crash/,
  'a fault at the clearing commit': /clearing commit: (error|no reply)/,
  'a record that cannot be read': /cannot be read/,
  'the second page of a sweep': /query of the next page/,
  'a completion after another event took the attempt': /complete meets (processing|requires_review) of another/,
  'a record under a wrong id': /fail_permanently meets processing/,
};

const PROJECT = 'simulation';

/** Small enough that a handful of products needs several batches and several chunks, some of them beyond the claim. */
const COMMIT_SIZES = { entries: 3, chunkBytes: 90, claimChunks: 2 };

/** Creates a gunzip stream without zlib's thread, so that it ends before the simulation continues another process. */
function createSynchronousGunzip(): Duplex {
  return Duplex.from(async function* (parts: AsyncIterable<Buffer>) {
    yield gunzipSync(Buffer.concat((await Readable.from(parts).toArray()) as Buffer[]));
  });
}

jest.mock('node:zlib', () => ({
  ...jest.requireActual<object>('node:zlib'),
  createGunzip: createSynchronousGunzip,
}));

const events = jest.spyOn(KeyStore.prototype, 'applyTo');

/** Describes which event met which state of its key. */
function describeEvent([{ record }, , event]: Parameters<KeyStore['applyTo']>): string {
  const isOther = record !== undefined && 'attempt' in event && record.owner !== event.attempt.owner;
  return `${event.kind} meets ${record?.status}${isOther ? ' of another' : ''}`;
}

let embedded: EmbeddedFirestore;
let db: Firestore;

beforeAll(async () => {
  // The Firestore SDK captures a stack trace for each call. Short traces save time.
  Error.stackTraceLimit = 1;
  replaceSizes(COMMIT_SIZES);
  jest.replaceProperty(repository, 'KEYS_PER_PAGE', 2 as 100);
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
  events.mockClear();
  return runSchedule(seed, db, embedded, broken);
}

test(`${seeds.length} schedules from seed ${seeds[0]} violate nothing`, async () => {
  const results = new Set<string>();
  for (const seed of seeds) {
    try {
      const { trace, results: found } = await run(seed);
      for (const result of found) results.add(result);
      const lines = [...trace, ...events.mock.calls.map(describeEvent)];
      for (const [name, pattern] of Object.entries(REACHED))
        if (lines.some((line) => pattern.test(line))) results.add(name);
    } catch (error) {
      if (!(error instanceof InvariantViolation)) throw error;
      const command = `SIMULATION_SEED=${seed} SIMULATION_SCHEDULES=1 npx jest functions/test/simulation -t violate`;
      throw new Error(`${error.trace.join('\n')}\n\n${error.message}\n${command}`, { cause: error });
    }
  }
  // Other seeds may miss rare results.
  if (seeds === DEFAULT_SEEDS) expect([...results].sort()).toEqual([...RESULTS, ...Object.keys(REACHED)].sort());
}, 86_400_000);

test('the same seed makes the same schedule, to the last call', async () => {
  for (const seed of [4, 5]) {
    const { trace } = await run(seed);
    expect((await run(seed)).trace).toEqual(trace);
  }
});

describe('a service that is broken on purpose', () => {
  test.each(Object.entries(BREAKS))('%s is caught', async (_, { caught, seed: first, ...broken }) => {
    const runSchedules = async () => {
      for (const seed of getSeeds(first, SCHEDULES_PER_BREAK)) await run(seed, broken);
    };
    const violation: unknown = await runSchedules().catch((error: unknown) => error);
    expect(violation).toBeInstanceOf(InvariantViolation);
    expect(violation).toMatchObject({ message: expect.stringMatching(caught) as string });
  });
});
