import { readFileSync } from 'node:fs';
import type { Firestore } from '@google-cloud/firestore';
import { cleanUp, createFirestoreClient, startLocalServer, type LocalServer } from '../harness/local-server';
import { runProgram } from '../../dev/run/programs';

/** Tests the code of docs/consuming-lists.md with lists from `addPriceLists`, and with a failed list that a test writes itself. */

let service: LocalServer;
let db: Firestore;

beforeAll(async () => {
  service = await startLocalServer({ API_KEY: 'key', SAMPLE_DATA: 'true' });
  db = createFirestoreClient(service.firestoreAddress);
});
afterAll(async () => {
  await db.terminate();
  await cleanUp();
});

/** The order in which Firestore returns the ids differs from this one. */
const IDS = ['e', 'b%2Fc', 'a', 'd', 'c'];

const PRODUCTS = Object.fromEntries(
  IDS.map((id, i) => [id, { price_list_price: 10 + i, expected_forward_cost_price: 1 + i }]),
);
const EXPECTED = Object.entries(PRODUCTS)
  .map(([id, prices]) => ({ id, ...prices }))
  .sort((a, b) => (a.id < b.id ? -1 : 1));

async function create(boq_list_id: string, date: string) {
  const example = JSON.parse(readFileSync('docs/examples/price-list.json', 'utf8')) as { info: object };
  const response = await fetch(service.address('addPriceLists'), {
    method: 'POST',
    headers: { 'x-api-key': 'key', 'Content-Type': 'application/json' },
    body: JSON.stringify({ info: { ...example.info, boq_list_id, date, name: boq_list_id }, products: PRODUCTS }),
  });
  return (await response.json()) as { price_list: { id: string }; expected_forward_cost: { id: string } };
}

/** Runs the code of the page and then `calls`, which print JSON. */
async function run<Result>(calls: string): Promise<Result> {
  const [, code = ''] = /^```js\n([^]*?)^```$/m.exec(readFileSync('docs/consuming-lists.md', 'utf8')) ?? [];
  const env = { FIRESTORE_EMULATOR_HOST: service.firestoreAddress, GCLOUD_PROJECT: 'demo-price-lists' };
  const program = ['--input-type=module', '--eval', code + calls];
  const { stdout } = await runProgram(process.execPath, program, { cwd: 'functions', env });
  return JSON.parse(stdout) as Result;
}

test('the code of docs/consuming-lists.md reads the latest ready list of a market and month, with both prices of each product, in pages', async () => {
  await create('first', '06/2026');
  await create('second', '06/2026');
  const later = { market_id: 'mkt-ken', date: '06/2026', name: 'third', created_at: Date.now() + 60_000 };
  await db.doc('price_lists/failed').create({ ...later, status: 'failed' });
  const found = await run(`
    const list = await waitForNext('mkt-ken', '06/2026', undefined);
    const products = await Array.fromAsync(readProducts(list, 2));
    const none = await findLatest('mkt-ken', '07/2026');
    console.log(JSON.stringify({ name: list.get('name'), products, none: none === undefined }));
  `);
  expect(found).toEqual({ name: 'second', products: EXPECTED, none: true });
});

test('waitForNext returns a list that was created before the call and becomes ready during it', async () => {
  const { price_list } = await create('slow', '08/2026');
  const list = db.doc(`price_lists/${price_list.id}`);
  await list.update({ status: 'processing' });
  const found = await run(`
    const list = db.doc('price_lists/${price_list.id}');
    const current = await findLatest('mkt-ken', '08/2026');
    setTimeout(() => list.update({ status: 'ready' }), 100);
    globalThis.setTimeout = ((wait) => (call, ms) => wait(call, ms === 10_000 ? 200 : ms))(setTimeout);
    console.log(JSON.stringify((await waitForNext('mkt-ken', '08/2026', current)).get('name')));
  `);
  expect(found).toBe('slow');
});

test('findByBoqListId returns the list of a boq_list_id, and undefined for a boq_list_id without a list', async () => {
  await create('é 1', '09/2026');
  const found = await run(`
    const lists = await Promise.all([findByBoqListId('é 1'), findByBoqListId('none')]);
    console.log(JSON.stringify(lists.map((list) => list?.get('name') ?? null)));
  `);
  expect(found).toEqual(['é 1', null]);
});

describe('readProducts, when another program changes the entries,', () => {
  const READ = (id: string) => `
    const list = await db.doc('price_lists/${id}').get();
    const products = await Array.fromAsync(readProducts(list, 2)).catch(({ message }) => message);
    console.log(JSON.stringify(products));
  `;

  test.each([
    ['a deleted cost', 'c', 'Product c lacks a price', 'expected_forward_cost', 'delete'],
    ['a deleted price', 'c', 'Read 4 products of 5', 'price_list', 'delete'],
    ['an added price', 'b', 'Product b lacks a price', 'price_list', 'set'],
    ['a field of the other list', 'd', EXPECTED, 'expected_forward_cost', 'set'],
    ['an added cost', 'bb', EXPECTED, 'expected_forward_cost', 'set'],
  ] as const)('never gives a product the price of another: %s', async (name, id, expected, kind, change) => {
    const created = await create(name, '10/2026');
    const collection = kind === 'price_list' ? 'price_lists' : 'expected_forward_costs';
    const entry = db.doc(`${collection}/${created[kind].id}/products/${id}`);
    if (change === 'delete') await entry.delete();
    else await entry.set({ price_list_price: 99, note: 'of another program' }, { merge: true });
    expect(await run(READ(created.price_list.id))).toEqual(expected);
  });
});
