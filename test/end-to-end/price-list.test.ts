import { readFileSync } from 'node:fs';
import type { Firestore } from '@google-cloud/firestore';
import { readDeclaredIndexes } from '../../functions/test/support/declared-indexes';
import { TEST_FIRESTORE, startTestFirestore } from '../../functions/test/support/firestore';
import { EXAMPLE_PRICE_LIST } from '../../local/sample';
import type { PriceListBody } from '../../local/sample/price-list';
import {
  cleanUp,
  PROJECT,
  createFirestoreClient,
  post,
  startLocalServer,
  temporaryFolder,
  type LocalServer,
} from '../support/local-server';

/**
 * The whole service as its user has it: `npm start`, a price list of 1,203 products sent over HTTP, and what is stored of
 * it read back through the SDK; the same again after the death of the process.
 */

jest.setTimeout(180_000);
afterAll(cleanUp);

const text = readFileSync(EXAMPLE_PRICE_LIST, 'utf8');
const { info, products } = JSON.parse(text) as PriceListBody;

interface Created {
  document_id: string;
  price_list: { id: string };
  expected_forward_cost: { id: string };
}

/** The entries of a list as they are stored, by product. */
async function entriesOf(db: Firestore, list: string): Promise<Record<string, unknown>> {
  const { docs } = await db.collection(`${list}/products`).get();
  return Object.fromEntries(docs.map((entry) => [entry.id, entry.data()]));
}

async function expectStored(
  local: LocalServer,
  { document_id, price_list, expected_forward_cost }: Created,
): Promise<void> {
  const db = createFirestoreClient(local.firestoreAddress);
  const prices = Object.entries(products).map(([id, { price_list_price }]) => [id, { price_list_price }]);
  const costs = Object.entries(products).map(([id, { expected_forward_cost_price }]) => [
    id,
    { expected_forward_cost_price },
  ]);
  expect(await entriesOf(db, `price_lists/${price_list.id}`)).toEqual(Object.fromEntries(prices));
  expect(await entriesOf(db, `expected_forward_costs/${expected_forward_cost.id}`)).toEqual(Object.fromEntries(costs));
  for (const [collection, { id, ...fields }] of [
    ['price_lists', price_list],
    ['expected_forward_costs', expected_forward_cost],
  ] as const) {
    expect((await db.collection(collection).get()).docs.map((list) => [list.id, list.data()])).toEqual([[id, fields]]);
    expect(fields).toMatchObject({ status: 'ready', name: info.name, market_id: info.market_id });
  }
  const requests = (await db.collection('price_list_requests').get()).docs;
  expect(requests.map(({ id }) => id)).toEqual([document_id]);
  await db.terminate();
}

test('a price list is stored, replayed, and still there after the process was killed', async () => {
  const other = TEST_FIRESTORE ? await startTestFirestore(readDeclaredIndexes(), PROJECT) : undefined;
  const env = other ? { FIRESTORE_EMULATOR_HOST: other.address } : { DATA_DIR: temporaryFolder() };
  const npmStart = ['npm', 'start'];

  const first = await startLocalServer(env, npmStart);
  const created = await post(first.address('addPriceLists'), text);
  expect(created.status).toBe(200);
  expect(created.headers.has('idempotent-replayed')).toBe(false);
  const response = JSON.parse(created.text) as Created;
  expect(response).toMatchObject({ success: true, products_count: 1_203, market: { id: 'mkt-ken', iso: 'KEN' } });
  expect(Object.keys(products)).toHaveLength(1_203);
  await expectStored(first, response);

  const expectReplayed = async (local: LocalServer) => {
    const replay = await post(local.address('addPriceLists'), text);
    expect(replay.status).toBe(200);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.text).toBe(created.text);
  };
  await expectReplayed(first);

  first.kill('SIGKILL');
  expect((await first.ended).signal).toBe('SIGKILL');

  const second = await startLocalServer(env, npmStart);
  await expectReplayed(second);
  await expectStored(second, response);
  // Ctrl-C also reaches the shell between npm and the server, and npm reports how that shell ended.
  const { code, signal } = await second.stop();
  expect([0, 'SIGINT']).toContain(code ?? signal);
  await expect(fetch(second.address('addPriceLists'))).rejects.toThrow('fetch failed');
  await other?.close();
});
