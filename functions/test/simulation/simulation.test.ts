import { SimulationHost, SimulationProgram, type SimulationOutput, type SimulationRun } from './program';

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

const program = new SimulationProgram();

/** Two processes, for two processors. */
const hosts = [new SimulationHost(program), new SimulationHost(program)];

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  program.remove();
});

const runInBoth = (getRun: (host: number) => SimulationRun): Promise<SimulationOutput[]> =>
  Promise.all(hosts.map((host, i) => host.run(getRun(i))));

/**
 * Always the same schedules, so that a change that breaks one is the change that broke it; `run-simulation.ts` runs
 * others. A failure prints its schedule, and the seed that repeats it call by call.
 */
test(`${SCHEDULES} schedules of clients, operators, sweeps, faults, freezes, stops and crashes`, async () => {
  const half = SCHEDULES / 2;
  const both = await runInBoth((host) => ({ seed: 1 + host * half, schedules: half }));
  for (const { code, text } of both) if (code !== 0) throw new Error(text);
  const told = both.flatMap(({ text }) => [...(/results: (.*);/.exec(text)?.[1] ?? '').matchAll(/([a-z_ ]+) \d+/g)]);
  expect([...new Set(told.map(([, result = '']) => result.trim()))].sort()).toEqual(RESULTS);
}, 600_000);

test('the same seed makes the same schedule, to the last call', async () => {
  const twice = await runInBoth(() => ({ seed: 7, schedules: 8 }));
  const digests = twice.map(({ text }) => /digest (\w{16})/.exec(text)?.[1]);
  expect(digests[0]).toBeDefined();
  expect(digests[0]).toBe(digests[1]);
}, 300_000);
