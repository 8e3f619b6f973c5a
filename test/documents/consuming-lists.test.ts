import { readFileSync } from 'node:fs';
import { cleanUp, createFirestoreClient, startLocalServer } from '../support/local-server';
import { runProgram } from '../../scripts/harness/programs';

/** Tests the code of docs/consuming-lists.md with lists that add price lists has created. */

afterAll(cleanUp);

const CALLS = `
const list = await waitForNewer('mkt-ken', '06/2026', 0);
const products = await Array.fromAsync(readProducts(list, 2));
const none = await findLatest('mkt-ken', '07/2026');
console.log(JSON.stringify({ name: list.get('name'), products, none: none === undefined }));
`;

test('the code reads the latest ready list of a market and month, with both prices of each product, in pages', async () => {
  const service = await startLocalServer({ API_KEY: 'key', SAMPLE_DATA: 'true' });
  const example = JSON.parse(readFileSync('docs/examples/price-list.json', 'utf8')) as { info: object };
  const prices = { price_list_price: 2, expected_forward_cost_price: 1 };
  const ids = ['a', 'b%2Fc', 'd', 'e'];
  const products = Object.fromEntries(ids.map((id) => [id, prices]));
  for (const name of ['first', 'second']) {
    const info = { ...example.info, boq_list_id: name, name };
    await fetch(service.address('addPriceLists'), {
      method: 'POST',
      headers: { 'x-api-key': 'key', 'Content-Type': 'application/json' },
      body: JSON.stringify({ info, products }),
    });
  }
  const db = createFirestoreClient(service.firestoreAddress);
  const later = { market_id: 'mkt-ken', date: '06/2026', name: 'third', created_at: Date.now() + 60_000 };
  await db.doc('price_lists/failed').create({ ...later, status: 'failed' });
  await db.terminate();

  const [, code = ''] = /^```js\n([^]*?)^```$/m.exec(readFileSync('docs/consuming-lists.md', 'utf8')) ?? [];
  const env = { FIRESTORE_EMULATOR_HOST: service.firestoreAddress, GCLOUD_PROJECT: 'demo-price-lists' };
  const program = ['--input-type=module', '--eval', code + CALLS];
  const { stdout } = await runProgram(process.execPath, program, { cwd: 'functions', env });
  expect(JSON.parse(stdout)).toEqual({
    name: 'second',
    products: ids.map((id) => ({ id, ...prices })),
    none: true,
  });
});
