import { runSimulation } from './program';

const SCHEDULES = 300;

/** What clients, operators and sweeps get somewhere in the schedules, so that every rule of the model is tried. */
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

/**
 * Always the same schedules, so that a change that breaks one is the change that broke it;
 * `run-simulation.ts` runs others. A failure prints its schedule, and the seed that repeats it call
 * by call.
 */
test(`${SCHEDULES} schedules of clients, operators, sweeps, faults, freezes, stops and crashes`, async () => {
  // Two processes, for two processors.
  const half = SCHEDULES / 2;
  const run = (seed: number) => runSimulation(['--seed', `${seed}`, '--schedules', `${half}`]);
  const both = await Promise.all([run(1), run(1 + half)]);
  for (const { code, text } of both) if (code !== 0) throw new Error(text);
  const told = both.flatMap(({ text }) => [...(/results: (.*);/.exec(text)?.[1] ?? '').matchAll(/([a-z_ ]+) \d+/g)]);
  expect([...new Set(told.map(([, result = '']) => result.trim()))].sort()).toEqual(RESULTS);
}, 600_000);

test('the same seed makes the same schedule, to the last call', async () => {
  const run = () => runSimulation(['--seed', '1', '--schedules', '8']);
  const digests = (await Promise.all([run(), run()])).map(({ text }) => /digest (\w{16})/.exec(text)?.[1]);
  expect(digests[0]).toBeDefined();
  expect(digests[0]).toBe(digests[1]);
}, 300_000);
