import { addPriceLists } from '../../src/add-price-lists';
import type { EndedCall, Requests } from '../../../packages/firestore-local/src';
import { billCreation, countDocuments, REPLAY } from '../support/billed-documents';
import type { ReceivedResponse } from '../support/received-response';
import {
  countRecords,
  readListEntries,
  readSingleKeyRecord,
  readAllRecords,
  type AddPriceListsBody,
} from '../support/price-lists';
import { useTestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { createPriceListBody } from '../support/submissions';
import { expectValidationErrorPaths, withLabels } from '../support/validation';

const service = useTestService({ addPriceLists });
beforeEach(async () => {
  service.reset();
  await writeRecords(service.db, 'markets', {
    'market-1': { name: { en: 'Egypt', ar: 'مصر' }, country_iso: 'egy', currency_iso: ' egp' },
  });
});

const submit = (json: unknown) => service.call('addPriceLists', { json });

async function created(json: unknown): Promise<AddPriceListsBody> {
  const response = await submit(json);
  expect([response.status, response.json]).toMatchObject([200, { success: true }]);
  return response.json as AddPriceListsBody;
}

/** The ids of the lists of a creation for a market that exists. */
function listsOf({ expected_forward_cost, price_list }: AddPriceListsBody): { efc: string; pl: string } {
  if (expected_forward_cost === null || price_list === null) throw new Error('no lists were created');
  return { efc: `expected_forward_costs/${expected_forward_cost.id}`, pl: `price_lists/${price_list.id}` };
}

const DIFFERS = { error: 'Idempotency key already used with a different payload' };
const UNRESOLVED = { error: 'Request is already being processed or requires review' };

function expectConflict({ status, headers, json }: ReceivedResponse, body: object): void {
  expect([status, json]).toEqual([409, body]);
  expect(headers['retry-after']).toBeUndefined();
}

/** The documents that a commit writes below a list's entries. */
const entryNames = ({ request }: Pick<EndedCall, 'request'>) =>
  (request as Requests['Commit']).writes.map(({ name }) => name).filter((name) => name.includes('/products/'));

describe('a new request for an existing market', () => {
  test('returns both lists as ready and stores their entries', async () => {
    const response = await created(createPriceListBody(3));
    const parent = {
      status: 'ready',
      created_at: expect.any(Number) as number,
      updated_at: expect.any(Number) as number,
      currency: 'EGP',
      market_id: 'market-1',
      market_iso: 'EGY',
      name: 'June',
      new_date: { year: 2026, month: 6 },
    };
    expect(response).toEqual({
      success: true,
      message: expect.stringMatching(/valid and stored/) as string,
      products_count: 3,
      document_id: expect.stringMatching(/^[A-Za-z0-9]{20}$/) as string,
      market: { id: 'market-1', name: 'Egypt', iso: 'EGY' },
      expected_forward_cost: { id: expect.stringMatching(/^[A-Za-z0-9]{20}$/) as string, ...parent },
      price_list: { id: expect.stringMatching(/^[A-Za-z0-9]{20}$/) as string, ...parent, date: '06/2026' },
    });

    const { efc, pl } = listsOf(response);
    expect(await readListEntries(service.db, pl)).toEqual({
      'product-0': { price_list_price: 0.25 },
      'product-1': { price_list_price: 1.25 },
      'product-2': { price_list_price: 2.25 },
    });
    expect(await readListEntries(service.db, efc)).toEqual({
      'product-0': { expected_forward_cost_price: 0 },
      'product-1': { expected_forward_cost_price: 1 },
      'product-2': { expected_forward_cost_price: 2 },
    });

    expect(await countRecords(service.db)).toEqual({
      price_list_requests: 1,
      'price_list_requests/payload': 1,
      expected_forward_costs: 1,
      'expected_forward_costs/products': 3,
      price_lists: 1,
      'price_lists/products': 3,
      price_list_idempotency: 1,
    });
  });

  test('has no commit of more than 500 writes', async () => {
    const calls = service.recordCalls();
    await created(createPriceListBody(1_203));
    const commits = calls
      .filter(({ rpc }) => rpc === 'Commit')
      .map(({ request }) => (request as Requests['Commit']).writes.length);
    expect(Math.max(...commits)).toBe(500);
  });

  test.each([1, 1_203])('of %i products reads and writes the documents that are priced', async (products) => {
    const body = createPriceListBody(products);
    const calls = service.recordCalls();
    await created(body);
    expect(countDocuments(calls)).toEqual(billCreation(products));
    calls.length = 0;
    await created(body);
    expect(countDocuments(calls)).toEqual(REPLAY);
  });
});

describe('a market', () => {
  const MARKETS: [string, object, object][] = [
    [
      'of wrong types',
      { name: 'Egypt', country_iso: 7, currency_iso: ['egp'] },
      { name: null, iso: null, currency: 'USD' },
    ],
    [
      'of odd codes',
      { name: { en: ' ' }, country_iso: ' eg ', currency_iso: 'pound' },
      { name: ' ', iso: 'EG', currency: 'POUND' },
    ],
  ];
  test.each(MARKETS)('with %s is read as far as its fields are valid', async (_, market, expected) => {
    await service.db.doc('markets/market-1').set(market);
    const { name, iso, currency } = expected as { name: string | null; iso: string | null; currency: string };
    const response = await created(createPriceListBody(1));
    expect(response).toMatchObject({
      market: { id: 'market-1', name, iso },
      expected_forward_cost: { currency, market_iso: iso },
      price_list: { currency, market_iso: iso, status: 'ready' },
    });
    expect((await service.db.doc(listsOf(response).pl).get()).data()).toMatchObject({ currency, market_iso: iso });
  });

  test.each(withLabels(['nobody', 'a/b', '__x__', 'é'.repeat(751)]))(
    'that does not exist (%s) stores only the request record',
    async (_, market_id) => {
      expect(await created(createPriceListBody(2, { market_id }))).toEqual({
        success: true,
        message: expect.stringMatching(/valid and stored/) as string,
        products_count: 2,
        document_id: expect.any(String) as string,
        market: null,
        expected_forward_cost: null,
        price_list: null,
      });
      expect(await countRecords(service.db)).toEqual({
        price_list_requests: 1,
        'price_list_requests/payload': 1,
        price_list_idempotency: 1,
      });
    },
  );
});

test('a body with more than a hundred errors gets the first hundred, and is told that there may be more', async () => {
  const prices = { price_list_price: -1, expected_forward_cost_price: -1 };
  const products = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, prices]));
  const response = await submit({ ...createPriceListBody(1), products });
  expect(expectValidationErrorPaths(response)).toHaveLength(100);
  expect((response.json as { message: string }).message).toMatch(/may be more/);
  expect(await countRecords(service.db)).toEqual({});
});

describe('a repeated request', () => {
  const body = createPriceListBody(3);

  test('returns the first response byte for byte and writes nothing', async () => {
    const first = await submit(body);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const records = await readAllRecords(service.db);
    const calls = service.recordCalls();
    const reordered = JSON.stringify({
      products: Object.fromEntries(Object.entries(body.products).reverse()),
      extra: 1,
      info: { ...Object.fromEntries(Object.entries(body.info).reverse()), currency_iso: 'USD' },
    }).replace('"expected_forward_cost_price":1}', '"expected_forward_cost_price":1.0}');
    for (const again of [JSON.stringify(body), reordered]) {
      const { status, headers, bytes } = await service.call('addPriceLists', { body: again });
      expect(status).toBe(200);
      expect(headers['idempotent-replayed']).toBe('true');
      expect(bytes.equals(first.bytes)).toBe(true);
    }
    expect(calls.filter(({ rpc }) => rpc === 'Commit')).toEqual([]);
    expect(await readAllRecords(service.db)).toEqual(records);
  });

  test('with another payload returns 409 and changes nothing', async () => {
    await submit(body);
    const records = await readAllRecords(service.db);
    expectConflict(await submit(createPriceListBody(3, { name: 'July' })), DIFFERS);
    expect(await readAllRecords(service.db)).toEqual(records);
  });

  test.each(withLabels(['__proto__', 'a/b', 'BOQ-1', 'boq-1 ']))('matches only the key %s', async (_, boq_list_id) => {
    await created(createPriceListBody(1));
    await created(createPriceListBody(2, { boq_list_id }));
    const again = await submit(createPriceListBody(2, { boq_list_id }));
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(await countRecords(service.db)).toMatchObject({
      price_list_requests: 2,
      price_list_idempotency: 2,
      price_lists: 2,
    });
  });

  test('sent ten times at once creates one price list', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => submit(body)));
    const fresh = responses.filter(
      ({ status, headers }) => status === 200 && headers['idempotent-replayed'] === undefined,
    );
    expect(fresh).toHaveLength(1);
    for (const { status, json, text } of responses) {
      if (status === 409) expect(json).toEqual(UNRESOLVED);
      else expect([status, text]).toEqual([200, fresh[0]?.text]);
    }
    expect(await countRecords(service.db)).toMatchObject({
      price_lists: 1,
      expected_forward_costs: 1,
      price_list_requests: 1,
    });
  });
});

describe('a request that fails', () => {
  const body = createPriceListBody(501);

  async function failed(): Promise<ReceivedResponse> {
    service.firestore.faults.inject({
      rpc: 'Commit',
      match: (call) => entryNames(call).some((name) => name.includes('/price_lists/')),
      nth: 2,
      action: { kind: 'error', code: 'PERMISSION_DENIED', message: 'no write on projects/secret' },
    });
    return submit(body);
  }

  test('returns 500 without internals, marks its lists failed and its key as requiring review', async () => {
    const { status, json, text, headers } = await failed();
    expect(headers['retry-after']).toBeUndefined();
    expect([status, json]).toEqual([500, { error: expect.any(String) as string }]);
    expect(text).not.toMatch(/secret|PERMISSION|projects|Error:/);
    const { data } = await readSingleKeyRecord(service.db);
    expect(data).toMatchObject({ status: 'requires_review', response: null });
    expect(data['failure']).toContain('no write on projects/secret');
    const parents = [
      ...(await service.db.collection('price_lists').get()).docs,
      ...(await service.db.collection('expected_forward_costs').get()).docs,
    ];
    expect(parents.map((parent) => parent.get('status') as string)).toEqual(['failed', 'failed']);
    // No rollback: what was written stays.
    expect(await countRecords(service.db)).toMatchObject({ 'price_lists/products': 500 });
    expect(service.log.map(({ event }) => event)).toEqual(['price_list_claimed', 'price_list_failed', 'request']);
  });

  test('and is released can be claimed again with another payload, and its attempt stays in the history', async () => {
    await failed();
    const { path, data } = await readSingleKeyRecord(service.db);
    await service.db.doc(path).update({ status: 'released' });
    const { document_id } = await created(createPriceListBody(2));
    expect((await readSingleKeyRecord(service.db)).data).toMatchObject({
      status: 'completed',
      document_id,
      history: [{ document_id: data['document_id'] as string, failure: data['failure'] as string }],
    });
    expect((await submit(createPriceListBody(2))).headers['idempotent-replayed']).toBe('true');
  });

  test.each([{ status: 'done' }, { history: null }])(
    'with an invalid key record (%j) returns 500 and writes nothing',
    async (damage) => {
      await created(body);
      const { path } = await readSingleKeyRecord(service.db);
      await service.db.doc(path).update(damage);
      const records = await readAllRecords(service.db);
      const { status, json } = await submit(body);
      expect([status, json]).toEqual([500, { error: 'Internal error' }]);
      expect(await readAllRecords(service.db)).toEqual(records);
    },
  );
});
