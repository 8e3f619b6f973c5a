import { setTimeout as delay } from 'node:timers/promises';
import { MEMORY_PROBE_ENV, type DeployedFunction } from '../../dev/run/deployed';
import { operations } from '../../dev/run/operations';
import { sendTo, startDeployedPackage, type DeployedPackage } from '../harness/deployed-package';
import { fuzz } from './fuzz';
import { FUZZED_OPERATIONS } from './hostile-requests';

/**
 * Sends hostile requests to functions. Each function has its own process. `FUZZ_REQUESTS` sets the number of requests after the
 * warm-up, and `SEED` sets the first seed. `FUZZ_REQUESTS=1` with the seed of a violation repeats the request that caused it.
 */

const count = Number(process.env['FUZZ_REQUESTS'] ?? 800);
const seed = Number(process.env['SEED'] ?? 1_000);

/** Maximum number of bytes by which the memory of a process can grow after its warm-up. */
const MORE_MEMORY = 12 * 1024 * 1024;

let deployed: DeployedPackage;
type Fuzzed = (typeof FUZZED_OPERATIONS)[number];

const served = {} as Record<Fuzzed, DeployedFunction>;

beforeAll(async () => {
  deployed = await startDeployedPackage();
  const env = { CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com', ...MEMORY_PROBE_ENV };
  for (const name of FUZZED_OPERATIONS) served[name] = await deployed.start(name, env);
});
afterAll(() => deployed.close());

/** Returns whether the memory of a process falls below `bytes` within 20 seconds. V8 frees buffers some time after their owners. */
async function fallsBelow(name: Fuzzed, bytes: number): Promise<boolean> {
  for (let tries = 0; tries < 20; tries += 1) {
    if ((await served[name].readHeapBytes()) < bytes) return true;
    await delay(1_000);
  }
  return false;
}

test(`${count} hostile requests from seed ${seed} cause no crash, hang, 5xx, malformed response or growth by 12 MiB`, async () => {
  // These requests warm up the processes, so caches and compiled code do not count as growth.
  await fuzz(({ operation }) => served[operation].port, 300, 1);
  const before = new Map<Fuzzed, number>();
  for (const name of FUZZED_OPERATIONS) before.set(name, await served[name].readHeapBytes());

  const { responses, violations } = await fuzz(({ operation }) => served[operation].port, count, seed);
  expect(violations).toEqual([]);
  // Each of these kinds of response must occur, which shows that requests reach Node's parser and the service. A
  // repeat of one request is exempt.
  const kinds = ['200 JSON', '400 JSON', '401 JSON', '405 JSON', '400 bare'];
  if (count > 1) expect([...responses]).toEqual(expect.arrayContaining(kinds));

  for (const name of FUZZED_OPERATIONS) {
    expect([name, served[name].alive()]).toEqual([name, true]);
    expect(await sendTo(served[name], name, operations[name].body)).toMatchObject({
      status: operations[name].emptyStatus,
    });
    const unforeseen = served[name].output.filter((line) => line.includes('"severity":"ERROR"'));
    expect(unforeseen).toEqual([]);
    expect([name, await fallsBelow(name, (before.get(name) ?? 0) + MORE_MEMORY)]).toEqual([name, true]);
  }
});
