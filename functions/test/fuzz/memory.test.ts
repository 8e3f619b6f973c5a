import { gzipSync } from 'node:zlib';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { getMaxValues } from '../../src/lib/payload-limits';
import { writeOptions } from '../../src/lib/runtime-options';
import { DEPLOY_PACKAGE, MEMORY_PROBE_ENV, startDeployedFunction } from '../../../scripts/harness/deployed';
import { sendRequest } from '../../../scripts/harness/http';
import { operations } from '../../../scripts/harness/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';

/**
 * Sends as many of the most expensive known bodies at once as an instance takes. Of 32 kinds of bodies, which were as
 * long as the limits of bytes and values allow, these took the most memory.
 */

const MIB = 1024 * 1024;
const API_KEY = 'fuzz-key';

/** The heap that Node gives itself in a container of 1 GiB, and how much the whole process may take there. */
const MAX_HEAP_MIB = 560;
const MAX_RSS_MIB = 1_024;

const INFO = '"info":{"market_id":"none","boq_list_id":"list","currency_iso":"usd","date":"06/2026","name":"n"}';
const PRICES = '"price_list_price":1.5,"expected_forward_cost_price":2.5';

const toId = (n: number): string => n.toString(36);

/** `values`: how many values each item counts. */
interface Kind {
  start: string;
  item: (n: number) => string;
  values: number;
  end: string;
}

const KINDS: Record<string, Kind> = {
  'dense products': { start: `{${INFO},"products":{`, item: (n) => `"${toId(n)}":{${PRICES}}`, values: 3, end: '}}' },
  'identifiers with escapes': {
    start: `{${INFO},"products":{`,
    item: (n) => `"\\"${toId(n)}":{${PRICES}}`,
    values: 3,
    end: '}}',
  },
  'names with escapes': { start: `{${INFO},"x":{`, item: (n) => `"\\n${toId(n)}":0`, values: 1, end: '}}' },
  'long names': { start: `{${INFO},"x":{`, item: (n) => `"${toId(n).padEnd(12, '.')}":""`, values: 1, end: '}}' },
  'products with a member each': {
    start: `{${INFO},"products":{`,
    item: (n) => `"${toId(n)}":{"u${toId(n)}":0,${PRICES}}`,
    values: 4,
    end: '}}',
  },
};

/** Returns JSON of at most 32 MiB that has as many values as the service accepts. */
function writeBody({ start, item, values, end }: Kind): Buffer {
  const items: string[] = [];
  const maxItems = Math.floor(getMaxValues(32 * MIB) / values) - 10;
  for (let left = 32 * MIB - start.length - end.length; items.length < maxItems;) {
    const text = item(items.length);
    left -= text.length + 1;
    if (left < 0) break;
    items.push(text);
  }
  return gzipSync(start + items.join() + end, { level: 1 });
}

let firestore: EmbeddedFirestore;
beforeAll(async () => {
  firestore = await startFirestore({ indexes: readDeclaredIndexes() });
});
afterAll(() => firestore.close());

const HEADERS = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-encoding': 'gzip' };

test.each(Object.entries(KINDS))(
  'an instance lives on after the bodies of %s that it takes at once',
  async (_, kind) => {
    const deployed = await startDeployedFunction(DEPLOY_PACKAGE, 'addPriceLists', {
      API_KEY,
      CORS_ALLOWED_ORIGINS: '',
      FIRESTORE_EMULATOR_HOST: firestore.address,
      METADATA_SERVER_DETECTION: 'none',
      NODE_OPTIONS: `${MEMORY_PROBE_ENV.NODE_OPTIONS} --max-old-space-size=${MAX_HEAP_MIB}`,
    });
    // The body is sent in chunks, because the response can come before the body is complete.
    const sendBody = async (bytes: Buffer) =>
      (await sendRequest(deployed.port, { method: 'POST', headers: HEADERS, body: [bytes] })).status;
    const body = writeBody(kind);
    const statuses = await Promise.all(Array.from({ length: writeOptions.concurrency }, () => sendBody(body)));
    for (const status of statuses) expect([200, 400, 409, 413]).toContain(status);
    const peakMiB = Math.round((await deployed.readRss()).peakRss / MIB);
    expect(await sendBody(gzipSync(JSON.stringify(operations.addPriceLists.body)))).toBe(200);
    await deployed.stop();
    process.stdout.write(`${peakMiB} MiB\n`);
    // A working measurement shows more than the idle process.
    expect(peakMiB).toBeGreaterThan(150);
    expect(peakMiB).toBeLessThan(MAX_RSS_MIB);
  },
);
