import { setTimeout as delay } from 'node:timers/promises';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import {
  DEPLOY_PACKAGE,
  MEMORY_PROBE_ENV,
  startDeployedFunction,
  type DeployedFunction,
} from '../../../scripts/harness/deployed';
import { sendRequest } from '../../../scripts/harness/http';
import { operations, type OperationName } from '../../../scripts/harness/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';
import { fuzz } from './fuzz';
import { FUZZ_KEY, FUZZED_OPERATIONS } from './requests';

/**
 * Sends hostile requests to functions. Each function has its own process. `FUZZ_REQUESTS` sets
 * how many, `SEED` the first seed. `FUZZ_REQUESTS=1` with the seed of a violation repeats its request.
 */

const count = Number(process.env['FUZZ_REQUESTS'] ?? 800);
const seed = Number(process.env['SEED'] ?? 1_000);

/** Maximum number of bytes by which the memory of a process can grow after its warm-up. */
const MORE_MEMORY = 12 * 1024 * 1024;

let firestore: EmbeddedFirestore;
const served = new Map<OperationName, DeployedFunction>();

beforeAll(async () => {
  firestore = await startFirestore({ indexes: readDeclaredIndexes() });
  const env = {
    API_KEY: FUZZ_KEY,
    CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com',
    FIRESTORE_EMULATOR_HOST: firestore.address,
    METADATA_SERVER_DETECTION: 'none',
    ...MEMORY_PROBE_ENV,
  };
  for (const name of FUZZED_OPERATIONS) served.set(name, await startDeployedFunction(DEPLOY_PACKAGE, name, env));
});

afterAll(async () => {
  for (const { stop } of served.values()) await stop();
  await firestore.close();
});

const processOf = (name: OperationName): DeployedFunction => {
  const found = served.get(name);
  if (found === undefined) throw new Error(`${name} is not served`);
  return found;
};

/** Sends a valid request. @returns the status of the response */
async function askWell(name: OperationName): Promise<number> {
  const good = operations[name];
  const headers = { 'x-api-key': FUZZ_KEY, 'content-type': 'application/json' };
  const body = 'body' in good ? JSON.stringify(good.body) : '';
  return (await sendRequest(processOf(name).port, { method: good.method, headers, body })).status;
}

/** Returns whether the memory of a process falls below `bytes` within 20 seconds. V8 frees buffers some time after their owners. */
async function fallsBelow(name: OperationName, bytes: number): Promise<boolean> {
  for (let tries = 0; tries < 20; tries += 1) {
    if ((await processOf(name).readHeapBytes()) < bytes) return true;
    await delay(1_000);
  }
  return false;
}

test(`${count} hostile requests from seed ${seed} cause no crash, hang, 5xx, malformed response or memory leak`, async () => {
  // These requests warm up the processes, so caches and compiled code do not count as growth.
  await fuzz(({ operation }) => processOf(operation).port, { count: 300, seed: 1 });
  const before = new Map<OperationName, number>();
  for (const name of FUZZED_OPERATIONS) before.set(name, await processOf(name).readHeapBytes());

  const { responses, violations } = await fuzz(({ operation }) => processOf(operation).port, { count, seed });
  expect(violations).toEqual([]);
  // Each of these kinds of response must occur, which shows that requests reach Node's parser and the service. A
  // repeat of one request is exempt.
  for (const response of count === 1 ? [] : ['200 JSON', '400 JSON', '401 JSON', '405 JSON', '400 bare'])
    expect(responses.get(response)).toBeGreaterThan(0);

  for (const name of FUZZED_OPERATIONS) {
    expect([name, processOf(name).alive()]).toEqual([name, true]);
    expect([name, await askWell(name)]).toEqual([name, 200]);
    const unforeseen = processOf(name).output.filter((line) => line.includes('"severity":"ERROR"'));
    expect(unforeseen).toEqual([]);
    expect([name, await fallsBelow(name, (before.get(name) ?? 0) + MORE_MEMORY)]).toEqual([name, true]);
  }
});
