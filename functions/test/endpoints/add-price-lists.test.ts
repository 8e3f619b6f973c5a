import { createHash, randomBytes } from 'node:crypto';
import { addPriceLists } from '../../src/add-price-lists';
import type { Requests } from '../../../packages/firestore-local/src';
import { checkInvariants } from '../resilience/invariants';
import { billCreation, countDocuments, REPLAY } from '../support/billed-documents';
import { countRecords, readAllRecords, type AddPriceListsBody } from '../support/price-lists';
import { useTestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { createPriceListBody, parseSubmission, type PriceListBody } from '../support/submissions';
import { expectValidationErrorPaths, withLabels } from '../support/validation';

/** Add price lists over HTTP. ../modules/price-lists tests what it stores, and why a creation fails. */

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

/** Returns a body with random ids of 1,400 bytes, which compress only to 1,050. */
function createLargePriceListBody(count: number): PriceListBody {
  const ids = Array.from({ length: count }, () => randomBytes(1_050).toString('base64url'));
  const prices = { price_list_price: 1, expected_forward_cost_price: 0.5 };
  const products = Object.fromEntries(ids.map((id) => [id, prices]));
  return { ...createPriceListBody(0, { market_id: 'nobody' }), products };
}

const anyId = expect.stringMatching(/^[A-Za-z0-9]{20}$/) as string;

describe('a new request', () => {
  test('stores the id of its API key, which is also in its log line', async () => {
    service.setConfig({ API_KEY: 'first-key\nsecond-key' });
    const headers = { 'x-api-key': 'second-key' };
    const { status } = await service.call('addPriceLists', { json: createPriceListBody(1), headers });
    expect(status).toBe(200);
    const [request] = (await service.db.collection('price_list_requests').get()).docs;
    const [key] = (await service.db.collection('price_list_idempotency').get()).docs;
    const logged = service.log.find(({ event }) => event === 'request');
    expect([request?.get('key_id'), key?.get('key_id')]).toEqual([logged?.['key_id'], logged?.['key_id']]);
    expect(logged?.['key_id']).toBe(createHash('sha256').update('second-key').digest('hex').slice(0, 8));
  });

  test('for an existing market returns the market, and both lists as ready', async () => {
    const parent = {
      id: anyId,
      status: 'ready',
      created_at: expect.any(Number) as number,
      updated_at: expect.any(Number) as number,
      currency: 'EGP',
      market_id: 'market-1',
      market_iso: 'EGY',
      name: 'June',
      new_date: { year: 2026, month: 6 },
    };
    expect(await created(createPriceListBody(3))).toEqual({
      success: true,
      message: expect.stringMatching(/valid and stored/) as string,
      products_count: 3,
      document_id: anyId,
      market: { id: 'market-1', name: 'Egypt', iso: 'EGY' },
      expected_forward_cost: parent,
      price_list: { ...parent, date: '06/2026' },
    });
  });

  test.each(withLabels(['nobody', 'a/b', '__x__', 'é'.repeat(751)]))(
    'for a market that does not exist (%s) stores a request record and no lists',
    async (_, market_id) => {
      expect(await created(createPriceListBody(2, { market_id }))).toEqual({
        success: true,
        message: expect.stringMatching(/valid and stored/) as string,
        products_count: 2,
        document_id: anyId,
        market: null,
        expected_forward_cost: null,
        price_list: null,
      });
      expect(await countRecords(service.db)).toEqual({
        price_list_requests: 1,
        'price_list_requests/price_list_payload': 1,
        price_list_idempotency: 1,
      });
    },
  );

  test('has no commit of more than 500 writes', async () => {
    const calls = service.recordCalls();
    await created(createPriceListBody(1_000));
    const commits = calls
      .filter(({ rpc }) => rpc === 'Commit')
      .map(({ request }) => (request as Requests['Commit']).writes.length);
    expect(Math.max(...commits)).toBe(500);
  });

  test.each([1, 501])(
    'of %i products makes the billed reads and writes that docs/performance.md counts',
    async (products) => {
      const body = createPriceListBody(products);
      const calls = service.recordCalls();
      await created(body);
      expect(countDocuments(calls)).toEqual(billCreation(products));
      calls.length = 0;
      await created(body);
      expect(countDocuments(calls)).toEqual(REPLAY);
    },
  );

  test('whose payload compresses to more than 9 MiB gets 413, and stores nothing', async () => {
    const response = await submit(createLargePriceListBody(9_100));
    expect([response.status, response.json]).toEqual([413, { error: 'Payload too large' }]);
    expect(response.headers).toMatchObject({
      'x-payload-limit-bytes': '9437184',
      'x-payload-limit-scope': 'compressed',
    });
    expect(await countRecords(service.db)).toEqual({});
  });
});

test('a body with more than 100 errors gets the first 100, and a message that there may be more', async () => {
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

  test.each(withLabels(['__proto__', 'a/b', 'BOQ-1', 'boq-1 ']))(
    'replays only the list with the same boq_list_id: %s',
    async (_, boq_list_id) => {
      await created(createPriceListBody(1));
      await created(createPriceListBody(2, { boq_list_id }));
      const again = await submit(createPriceListBody(2, { boq_list_id }));
      expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
      expect(await countRecords(service.db)).toMatchObject({
        price_list_requests: 2,
        price_list_idempotency: 2,
        price_lists: 2,
      });
    },
  );

  test('that is sent ten times at once creates one price list', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => submit(body)));
    const fresh = responses.filter(
      ({ status, headers }) => status === 200 && headers['idempotent-replayed'] === undefined,
    );
    expect(fresh).toHaveLength(1);
    for (const { status, headers, json, text } of responses) {
      if (status !== 409) expect([status, text]).toEqual([200, fresh[0]?.text]);
      else expect(json).toEqual({ error: 'Request is already being processed or requires review' });
      if (status === 409) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    await checkInvariants(service.db, [parseSubmission(body)]);
    expect((await service.db.collection('price_lists').get()).size).toBe(1);
  });
});

test('a key record of a newer version gets the 409 of a review, and stays unchanged', async () => {
  await created(createPriceListBody(1));
  const [key] = (await service.db.collection('price_list_idempotency').get()).docs;
  await key?.ref.update({ schema_version: 2, shape: 'unknown' });
  const before = (await key?.ref.get())?.data();
  service.log.length = 0;
  const { status, json, headers } = await submit(createPriceListBody(1));
  expect([status, json]).toEqual([409, { error: 'Request is already being processed or requires review' }]);
  expect(headers['retry-after']).toBeUndefined();
  expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 409, needs_operator: true }]);
  expect((await key?.ref.get())?.data()).toEqual(before);
});

test('another payload under the same boq_list_id gets 409 without Retry-After', async () => {
  await created(createPriceListBody(1));
  const { status, json, headers } = await submit(createPriceListBody(2));
  expect([status, json]).toEqual([409, { error: 'Idempotency key already used with a different payload' }]);
  expect(headers['retry-after']).toBeUndefined();
});
