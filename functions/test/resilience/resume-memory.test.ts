import { createDatabase } from '../../src/lib/firestore/database';
import { keyDocumentId } from '../../src/lib/schemas/key-record';
import { createWorkContext } from '../../src/lib/work-context';
import { createPriceLists } from '../../src/price-lists/create';
import { startDeployedPackage, type DeployedPackage } from '../support/deployed';
import { TEST_REQUEST, updateKey } from '../support/price-lists';
import { createPriceListBody, parseSubmission } from '../support/submissions';

/**
 * The deployed sweep resumes three attempts side by side. Their long identifiers take two bytes for each
 * character in memory. By default, the lists and the heap are small. `RESUME_PRODUCTS=23000
 * RESUME_HEAP_MIB=560` tests the largest lists in the heap of docs/performance.md#memory-of-a-creation.
 */

const products = Number(process.env['RESUME_PRODUCTS'] ?? 2_000);
const heapMiB = Number(process.env['RESUME_HEAP_MIB'] ?? 70);
const KEYS = ['a', 'b', 'c'];

let deployed: DeployedPackage;
beforeAll(async () => {
  deployed = await startDeployedPackage();
});
afterAll(() => deployed.close());

const getKey = (key: string) => deployed.db.collection('price_list_idempotency').doc(keyDocumentId(key));

/** One character beyond Latin-1 makes each character of the string take two bytes. */
const createId = (i: number) => `${String(i).padStart(6, '0')}${'x'.repeat(1_391)}…`;

/** Creates price lists, and then changes their key as if the process had died before the completion. */
async function createAndCrash(key: string): Promise<void> {
  const prices = { price_list_price: 1, expected_forward_cost_price: 2 };
  const ids = Array.from({ length: products }, (_, i) => [createId(i), prices]);
  const { info } = createPriceListBody(0, { boq_list_id: key });
  const submission = parseSubmission({ info, products: Object.fromEntries(ids) as object });
  const context = createWorkContext(new AbortController().signal);
  await createPriceLists(submission, TEST_REQUEST, createDatabase(deployed.db, context), context);
  const crashed = { status: 'processing', owner: 'crashed', response: null, lease_expires_at: Date.now() };
  await updateKey(getKey(key), crashed);
}

test(`three attempts with ${products} products are resumed in a heap of ${heapMiB} MiB`, async () => {
  for (const key of KEYS) await createAndCrash(key);
  const { port, output } = await deployed.start('sweepPriceLists', { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` });
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST' }).catch(() => undefined);
  const outOfMemory = output.filter((line) => line.includes('heap out of memory'));
  expect([response?.status, outOfMemory]).toEqual([200, []]);
  const keys = await deployed.db.getAll(...KEYS.map(getKey));
  expect(keys.map((key) => key.get('status') as unknown)).toEqual(KEYS.map(() => 'completed'));
}, 1_800_000);
