import { gzipSync } from 'node:zlib';
import { getMaxValues } from '../../src/lib/payload-limits';
import { writeOptions } from '../../src/lib/runtime-options';
import { MEMORY_PROBE_ENV } from '../../../scripts/harness/deployed';
import { sendRequest } from '../../../scripts/harness/http';
import { operations } from '../../../scripts/harness/operations';
import { DEPLOYED_HEADERS, startDeployedPackage, type DeployedPackage } from '../support/deployed';

/**
 * Sends as many of the most expensive known bodies at once as an instance takes. Of 32 kinds of bodies, which were as
 * long as the limits of bytes and values allow, these took the most memory. By default the bodies and the heap are a
 * quarter of that. `FUZZ_LARGEST=1` sends the largest ones.
 */

const MIB = 1024 * 1024;

/** The bytes of a body, the heap that Node gives itself in a container of 1 GiB, and how much the process may take there. */
const LARGEST = { bodyMiB: 32, heapMiB: 560, rssMiB: 1_024 };
const SMALL = { bodyMiB: 8, heapMiB: 140, rssMiB: 500 };

const { bodyMiB, heapMiB, rssMiB } = process.env['FUZZ_LARGEST'] === undefined ? SMALL : LARGEST;

const INFO = '"info":{"market_id":"none","boq_list_id":"list","currency_iso":"usd","date":"06/2026","name":"n"}';
const PRICES = '"price_list_price":1.5,"expected_forward_cost_price":2.5';

const toId = (n: number): string => n.toString(36);

/** The member of the body that has the items, and how many values each item counts. */
type Kind = [title: string, member: 'products' | 'x', values: number, createItem: (n: number) => string];

const KINDS: Kind[] = [
  ['dense products', 'products', 3, (n) => `"${toId(n)}":{${PRICES}}`],
  ['identifiers with escapes', 'products', 3, (n) => `"\\"${toId(n)}":{${PRICES}}`],
  ['names with escapes', 'x', 1, (n) => `"\\n${toId(n)}":0`],
  ['long names', 'x', 1, (n) => `"${toId(n).padEnd(12, '.')}":""`],
  ['products with a member each', 'products', 4, (n) => `"${toId(n)}":{"u${toId(n)}":0,${PRICES}}`],
];

/** Returns JSON that has as many values for its bytes as the service accepts. */
function writeBody(member: string, values: number, createItem: (n: number) => string): Buffer {
  const start = `{${INFO},"${member}":{`;
  const items: string[] = [];
  const maxItems = Math.floor(getMaxValues(bodyMiB * MIB) / values) - 10;
  for (let left = bodyMiB * MIB - start.length - 2; items.length < maxItems;) {
    const text = createItem(items.length);
    left -= text.length + 1;
    if (left < 0) break;
    items.push(text);
  }
  return gzipSync(`${start}${items.join()}}}`, { level: 1 });
}

const headers = { ...DEPLOYED_HEADERS, 'content-encoding': 'gzip' };

let deployed: DeployedPackage;
beforeAll(async () => {
  deployed = await startDeployedPackage();
});
afterAll(() => deployed.close());

test.each(KINDS)('an instance lives on after the bodies of %s that it takes at once', async (_, ...kind) => {
  const { port, readRss, stop } = await deployed.start('addPriceLists', {
    NODE_OPTIONS: `${MEMORY_PROBE_ENV.NODE_OPTIONS} --max-old-space-size=${heapMiB}`,
  });
  // The body is sent in chunks, because the response can come before the body is complete.
  const sendBody = async (bytes: Buffer) =>
    (await sendRequest(port, { method: 'POST', headers, body: [bytes] })).status;
  const body = writeBody(...kind);
  const statuses = await Promise.all(Array.from({ length: writeOptions.concurrency }, () => sendBody(body)));
  for (const status of statuses) expect([200, 400, 409, 413]).toContain(status);
  const peakMiB = Math.round((await readRss()).peakRss / MIB);
  expect(await sendBody(gzipSync(JSON.stringify(operations.addPriceLists.body)))).toBe(200);
  await stop();
  process.stdout.write(`${peakMiB} MiB\n`);
  // A working measurement shows more than the idle process.
  expect(peakMiB).toBeGreaterThan(150);
  expect(peakMiB).toBeLessThan(rssMiB);
});
