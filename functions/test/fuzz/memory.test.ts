import { gzipSync } from 'node:zlib';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { DEPLOY_PACKAGE, MEMORY_PROBE_ENV, startDeployedFunction } from '../deployment/deployed';
import { sendRequest } from '../support/http';
import { operations } from '../support/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';

/** Measures the memory that the most expensive known bodies of 32 MiB take. Each was the worst of a search over random bodies. */

const MIB = 1024 * 1024;
const MAX_MIB = 256;
const API_KEY = 'fuzz-key';

const INFO = '"info":{"market_id":"none","boq_list_id":"list","currency_iso":"usd","date":"06/2026","name":"n"}';
const PRICES = '"price_list_price":1.5,"expected_forward_cost_price":2.5';

/** Returns a text of the given length that is different for each n. */
const pad = (n: number, length: number): string => n.toString(36).padEnd(length, '.');

/** Returns about 50 kB of members. No name repeats within 256 products. */
const createMembers = (n: number): string =>
  `{${Array.from({ length: 4_167 }, (_, i) => `"${n % 256}k${i}":0`).join()}}`;

const BODIES: [name: string, start: string, item: (n: number) => string, end: string][] = [
  // One character beyond Latin-1 makes each character of the string take two bytes.
  ['long identifiers', `{${INFO},"products":{`, (n) => `"${pad(n, 1_400)}字":{${PRICES},"unknown":{}}`, '}}'],
  ['many names', `{${INFO},"products":{`, (n) => `"${pad(n, 8)}":${createMembers(n)}`, '}}'],
  ['many `products` objects', `{${INFO},`, (n) => `"products":{"${pad(n, 8)}":{${PRICES},"unknown":1.5}}`, '}'],
];

/** Returns JSON of at most 32 MiB. */
function writeBody(start: string, item: (n: number) => string, end: string): Buffer {
  const items: string[] = [];
  for (let left = 32 * MIB - start.length - end.length + 1; ;) {
    const text = item(items.length);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) return Buffer.from(start + items.join() + end);
    items.push(text);
  }
}

let firestore: EmbeddedFirestore;
beforeAll(async () => {
  firestore = await startFirestore({ indexes: readDeclaredIndexes() });
});
afterAll(() => firestore.close());

const HEADERS = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-encoding': 'gzip' };

test.each(BODIES)('a body of %s takes at most 256 MiB', async (_, ...body) => {
  const deployed = await startDeployedFunction(DEPLOY_PACKAGE, 'addPriceLists', {
    API_KEY,
    CORS_ALLOWED_ORIGINS: '',
    FIRESTORE_EMULATOR_HOST: firestore.address,
    METADATA_SERVER_DETECTION: 'none',
    ...MEMORY_PROBE_ENV,
  });
  // The body is sent in chunks, because the response can come before the body is complete.
  const sendCompressed = (bytes: Buffer) => {
    const packed = gzipSync(bytes, { level: 1 });
    return sendRequest(deployed.port, { method: 'POST', headers: HEADERS, body: [packed] });
  };
  const valid = Buffer.from(JSON.stringify(operations.addPriceLists.body));
  for (let i = 0; i < 5; i += 1) expect((await sendCompressed(valid)).status).toBe(200);
  const { rss: idle } = await deployed.readRss();
  const { status } = await sendCompressed(writeBody(...body));
  expect([200, 400, 413]).toContain(status);
  const { peakRss } = await deployed.readRss();
  expect((await sendCompressed(valid)).status).toBe(200);
  await deployed.stop();
  const takenMiB = Math.round((peakRss - idle) / MIB);
  process.stdout.write(`${takenMiB} MiB\n`);
  // A working measurement shows at least a part of the body.
  expect(takenMiB).toBeGreaterThan(5);
  expect(takenMiB).toBeLessThanOrEqual(MAX_MIB);
});
