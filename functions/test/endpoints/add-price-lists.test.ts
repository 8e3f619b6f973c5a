import { randomBytes } from 'node:crypto';
import { addPriceLists } from '../../src/add-price-lists';
import type { PriceListsResponse } from '../../src/lib/schemas/responses';
import type { EndedCall, Requests } from '../../../emulator/src';
import { checkInvariants } from '../../../test/harness/invariants';
import { readAllRecords, writeMarket } from '../../../test/harness/price-lists';
import { useTestService } from '../../../test/harness/service';
import { createPriceListBody, parseSubmission, type PriceListBody } from '../../../test/harness/submissions';

/** Tests the operation add price lists over HTTP. ../modules/price-lists tests what a creation stores, and when it fails. */

const service = useTestService({ addPriceLists });
beforeEach(() => writeMarket(service.db));

const submit = (json: unknown) => service.call('addPriceLists', { json });

async function created(json: unknown): Promise<PriceListsResponse> {
  const response = await submit(json);
  expect([response.status, response.json]).toMatchObject([200, { success: true }]);
  return response.json as PriceListsResponse;
}

/** Returns a body with random ids of 1,400 bytes each, which compress only to 1,050 bytes. */
function createLargePriceListBody(count: number): PriceListBody {
  const ids = Array.from({ length: count }, () => randomBytes(1_050).toString('base64url'));
  const prices = { price_list_price: 1, expected_forward_cost_price: 0.5 };
  const products = Object.fromEntries(ids.map((id) => [id, prices]));
  return { ...createPriceListBody(0, { market_id: 'nobody' }), products };
}

describe('a new request', () => {
  test('for a market id that no document can have stores a request record and no lists', async () => {
    const nothing = { market: null, expected_forward_cost: null, price_list: null };
    expect(await created(createPriceListBody(2, { market_id: 'a/b' }))).toMatchObject(nothing);
    const paths = Object.keys(await readAllRecords(service.db));
    expect(paths.filter((path) => path.includes('price_lists/') || path.includes('costs/'))).toEqual([]);
    expect(paths).toHaveLength(3);
  });

  test('has no commit of more than 500 writes', async () => {
    const calls = service.recordCalls();
    await created(createPriceListBody(1_000));
    const commits = calls
      .filter(({ rpc }) => rpc === 'Commit')
      .map(({ request }) => (request as Requests['Commit']).writes.length);
    expect(Math.max(...commits)).toBe(500);
  });

  /** Counts the documents that calls read by name and that commits write, as Firestore bills them. */
  const countDocuments = (calls: readonly EndedCall[]) => ({
    reads: calls.reduce((sum, { request }) => sum + ('documents' in request ? request.documents.length : 0), 0),
    writes: calls.reduce((sum, { request }) => sum + ('writes' in request ? request.writes.length : 0), 0),
  });

  // The claim writes the key, the request, both lists and a chunk. Each product has two entries. The completion
  // writes the key and both lists. A creation reads the key and the market, and the key again.
  test.each([1, 501])(
    'of %i products costs 3 reads, 8 writes and two writes for each product, and its replay costs 2 reads',
    async (products) => {
      const body = createPriceListBody(products);
      const calls = service.recordCalls();
      await created(body);
      expect(countDocuments(calls)).toEqual({ reads: 3, writes: 5 + 2 * products + 3 });
      calls.length = 0;
      await created(body);
      expect(countDocuments(calls)).toEqual({ reads: 2, writes: 0 });
    },
  );

  test('whose payload compresses to more than 9 MiB gets 413, and stores nothing', async () => {
    const response = await submit(createLargePriceListBody(9_100));
    expect([response.status, response.json]).toEqual([413, { error: 'Payload too large' }]);
    expect(response.headers).toMatchObject({
      'x-payload-limit-bytes': '9437184',
      'x-payload-limit-scope': 'compressed',
    });
    expect(await readAllRecords(service.db)).toEqual({});
  });
});

test('a body with more than 100 errors gets the first 100, and a message that there may be more', async () => {
  const prices = { price_list_price: -1, expected_forward_cost_price: -1 };
  const products = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, prices]));
  const response = await submit({ ...createPriceListBody(1), products });
  const { errors, message } = response.json as { errors: unknown[]; message: string };
  expect([response.status, errors.length, message]).toEqual([400, 100, expect.stringMatching(/may be more/)]);
  expect(await readAllRecords(service.db)).toEqual({});
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

  test('that is sent ten times at once creates one price list', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => submit(body)));
    const fresh = responses.filter(
      ({ status, headers }) => status === 200 && headers['idempotent-replayed'] === undefined,
    );
    expect(fresh).toHaveLength(1);
    const rejection = '{"error":"Request is already being processed or requires review"}';
    for (const { status, headers, text } of responses) {
      expect(text).toBe(status === 409 ? rejection : fresh[0]?.text);
      if (status === 409) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    await checkInvariants(service.db, [parseSubmission(body)]);
    expect((await service.db.collection('price_lists').get()).size).toBe(1);
  });
});

test('another payload under the same boq_list_id gets 409 without Retry-After', async () => {
  await created(createPriceListBody(1));
  const { status, json, headers } = await submit(createPriceListBody(2));
  expect([status, json]).toEqual([409, { error: 'Idempotency key already used with a different payload' }]);
  expect(headers['retry-after']).toBeUndefined();
});
