import { createHash } from 'node:crypto';
import { addPriceLists } from '../../src/add-price-lists';
import type { EndedCall, Requests } from '../../../packages/firestore-local/src';
import { billCreation, countDocuments, REPLAY } from '../support/billed-documents';
import type { ReceivedResponse } from '../support/received-response';
import {
  AFTER_NEXT_SWEEP,
  countRecords,
  readListEntries,
  readSingleKeyRecord,
  readStoredPayload,
  readAllRecords,
  type AddPriceListsBody,
} from '../support/price-lists';
import { MESSAGE_LIMIT, testOfEmbedded } from '../support/firestore';
import { useTestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { createLargePriceListBody, createPriceListBody, type PriceListBody } from '../support/submissions';
import { withLabels } from '../support/validation';

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
  test('returns both lists as ready and stores exactly the documented records', async () => {
    const before = Date.now();
    const body = createPriceListBody(3, { currency_iso: 'usd' });
    const response = await created(body);
    const { expected_forward_cost, price_list, document_id } = response;
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
    const records = await readAllRecords(service.db);
    const { id: efcId, ...storedEfc } = expected_forward_cost ?? { id: '' };
    const { id: plId, ...storedPl } = price_list ?? { id: '' };
    expect(records[efc]).toEqual(storedEfc);
    expect(records[pl]).toEqual(storedPl);
    const { created_at, updated_at } = storedPl as unknown as Record<string, number>;
    expect(
      before <= Number(created_at) && Number(created_at) <= Number(updated_at) && Number(updated_at) <= Date.now(),
    ).toBe(true);

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

    expect(records[`price_list_requests/${document_id}`]).toMatchObject({
      info: { ...body.info, currency_iso: 'USD' },
      products_count: 3,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      market_id: 'market-1',
      expected_forward_cost_id: efcId,
      price_list_id: plId,
      created_at,
    });
    const key = await readSingleKeyRecord(service.db);
    expect(key.path).toBe(`price_list_idempotency/${createHash('sha256').update('boq-1').digest('hex')}`);
    expect(key.data['fingerprint']).toBe(records[`price_list_requests/${document_id}`]?.['fingerprint']);
    expect(key.data).toMatchObject({
      boq_list_id: 'boq-1',
      status: 'completed',
      document_id,
      response: JSON.stringify(response),
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

  test.each([1, 500, 501, 1_203])(
    'writes %i products in batches of at most 500, one after another, before ready',
    async (count) => {
      const sizes: Record<string, number[]> = { expected_forward_costs: [], price_lists: [] };
      const underWay = new Set<string>();
      const listOf = (name: string) => name.split('/documents/')[1]?.split('/')[0] ?? '';
      service.firestore.faults.inject({
        rpc: 'Commit',
        match: (call) => entryNames(call).length > 0,
        times: Infinity,
        action: {
          kind: 'call',
          run: async (call) => {
            const names = entryNames(call);
            const list = listOf(names[0] ?? '');
            // A batch is of one list, and nothing but entries.
            expect(names.every((name) => listOf(name) === list)).toBe(true);
            expect(call.request.writes).toHaveLength(names.length);
            expect(underWay.has(list)).toBe(false);
            underWay.add(list);
            sizes[list]?.push(names.length);
            const parents = await service.db.collection(list).get();
            expect(parents.docs.map((parent) => parent.get('status') as string)).toEqual(['processing']);
          },
        },
      });
      service.firestore.faults.inject({
        rpc: 'Commit',
        match: (call) => entryNames(call).length > 0,
        times: Infinity,
        when: 'after',
        action: { kind: 'call', run: (call) => void underWay.delete(listOf(entryNames(call)[0] ?? '')) },
      });
      const { efc, pl } = listsOf(await created(createPriceListBody(count)));
      const batches = Array.from({ length: Math.ceil(count / 500) }, (_, i) => Math.min(500, count - i * 500));
      expect(sizes).toEqual({ expected_forward_costs: batches, price_lists: batches });
      const prices = await readListEntries(service.db, pl);
      const costs = await readListEntries(service.db, efc);
      for (let i = 0; i < count; i += 1) {
        expect(prices[`product-${i}`]).toEqual({ price_list_price: i + 0.25 });
        expect(costs[`product-${i}`]).toEqual({ expected_forward_cost_price: i });
      }
      expect([Object.keys(prices).length, Object.keys(costs).length]).toEqual([count, count]);
    },
  );

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

  test('stores the canonical payload with its request, byte for byte, and no unknown field anywhere', async () => {
    const { info } = createPriceListBody(0, { currency_iso: 'uSd', name: ' é ' });
    const body = `{"products":{"b":{"note":"unknown-1","expected_forward_cost_price":1.0,"price_list_price":-0},"é":{"price_list_price":1e2,"expected_forward_cost_price":0.1}},
      "info":${JSON.stringify({ extra: 'unknown-2', ...info })},"extra":"unknown-3"}`;
    const { document_id, price_list } = (await service.call('addPriceLists', { body })).json as AddPriceListsBody;
    const payload = await readStoredPayload(service.db, document_id);
    expect(payload).toBe(
      '{"info":{"boq_list_id":"boq-1","currency_iso":"USD","date":"06/2026","market_id":"market-1","name":" é "},' +
        '"products":{"b":{"expected_forward_cost_price":1,"price_list_price":0},"é":{"expected_forward_cost_price":0.1,"price_list_price":100}}}',
    );
    const records = await readAllRecords(service.db);
    expect(JSON.stringify(records)).not.toContain('unknown');
    expect(await readListEntries(service.db, `price_lists/${price_list?.id ?? ''}`)).toStrictEqual({
      b: { price_list_price: 0 },
      é: { price_list_price: 100 },
    });
  });

  test.each([
    ['01/2026', { year: 2026, month: 1 }],
    ['12/0050', { year: 50, month: 12 }],
    ['10/0000', { year: 0, month: 10 }],
  ])('stores the month %s as %j', async (date, new_date) => {
    const response = await created(createPriceListBody(1, { date }));
    const { efc, pl } = listsOf(response);
    expect(response.price_list).toMatchObject({ date, new_date });
    expect((await service.db.doc(pl).get()).data()).toMatchObject({ date, new_date });
    const stored = (await service.db.doc(efc).get()).data();
    expect(stored).toMatchObject({ new_date });
    expect(stored).not.toHaveProperty('date');
  });

  test('logs its steps without its payload', async () => {
    await created(createPriceListBody(2, { name: 'Secret name', boq_list_id: 'secret-boq' }));
    expect(service.log.map(({ event }) => event)).toEqual(['price_list_claimed', 'price_list_completed', 'request']);
    expect(JSON.stringify(service.log)).not.toMatch(/secret|product-0|0\.25/i);
  });
});

describe('a market', () => {
  const MARKETS: [string, object, object][] = [
    ['without any field', {}, { name: null, iso: null, currency: 'USD' }],
    [
      'of wrong types',
      { name: 'Egypt', country_iso: 7, currency_iso: ['egp'] },
      { name: null, iso: null, currency: 'USD' },
    ],
    [
      'of blank fields',
      { name: { en: '' }, country_iso: ' ', currency_iso: ' ' },
      { name: null, iso: null, currency: 'USD' },
    ],
    [
      'of texts that no list could hold',
      { name: { en: 'x'.repeat(10_001) }, country_iso: 'é'.repeat(5_001), currency_iso: 'y'.repeat(10_001) },
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

  test.each(
    withLabels([
      'nobody',
      'Market-1',
      'market-1 ',
      'a/b',
      'market-1/x/y',
      '/',
      '.',
      '..',
      '__x__',
      '__proto__',
      'é'.repeat(751),
      '\n',
    ]),
  )('that does not exist (%s) stores only the request record', async (_, market_id) => {
    const { document_id, ...response } = await created(createPriceListBody(2, { market_id }));
    expect(response).toEqual({
      success: true,
      message: expect.stringMatching(/valid and stored/) as string,
      products_count: 2,
      market: null,
      expected_forward_cost: null,
      price_list: null,
    });
    expect(await countRecords(service.db)).toEqual({
      price_list_requests: 1,
      'price_list_requests/payload': 1,
      price_list_idempotency: 1,
    });
    expect((await service.db.doc(`price_list_requests/${document_id}`).get()).data()).toMatchObject({
      market_id,
      expected_forward_cost_id: null,
      price_list_id: null,
    });
    expect(JSON.parse(await readStoredPayload(service.db, document_id))).toMatchObject({
      products: createPriceListBody(2).products,
    });
    expect((await readSingleKeyRecord(service.db)).data).toMatchObject({ status: 'completed' });
  });
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

  test('of a market that did not exist returns the first response, though the market exists by now', async () => {
    const first = await submit(createPriceListBody(1, { market_id: 'late' }));
    await writeRecords(service.db, 'markets', { late: {} });
    const again = await submit(createPriceListBody(1, { market_id: 'late' }));
    expect(again.bytes.equals(first.bytes)).toBe(true);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  const others: [string, PriceListBody][] = [
    ['name', createPriceListBody(3, { name: 'July' })],
    ['case of the name', createPriceListBody(3, { name: 'june' })],
    ['market', createPriceListBody(3, { market_id: 'market-2' })],
    ['month', createPriceListBody(3, { date: '07/2026' })],
    ['currency', createPriceListBody(3, { currency_iso: 'eur' })],
    ['number of products', createPriceListBody(2)],
    [
      'price',
      { ...body, products: { ...body.products, 'product-0': { price_list_price: 9, expected_forward_cost_price: 0 } } },
    ],
  ];
  test.each(others)('with another %s returns 409 and changes nothing', async (_, other) => {
    await submit(body);
    const records = await readAllRecords(service.db);
    expectConflict(await submit(other), DIFFERS);
    expect(await readAllRecords(service.db)).toEqual(records);
  });

  test.each(withLabels(['__proto__', 'a/b', '.', '..', ' ', 'BOQ-1', 'boq-1 ', 'é', 'x'.repeat(10_000)]))(
    'matches only the key %s',
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

  test('during the first returns 409 with Retry-After, and with another payload 409 without', async () => {
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const fault = service.firestore.faults.inject({
      rpc: 'Commit',
      match: (call) => entryNames(call).length > 0,
      action: { kind: 'call', run: () => held },
    });
    const first = submit(body);
    await fault.fired;
    const { status, headers, json } = await submit(body);
    expect([status, json]).toEqual([409, UNRESOLVED]);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(10);
    expectConflict(await submit(createPriceListBody(2)), DIFFERS);
    goOn();
    expect((await first).status).toBe(200);
    expect((await submit(body)).headers['idempotent-replayed']).toBe('true');
    expect(await countRecords(service.db)).toMatchObject({
      price_lists: 1,
      'price_lists/products': 3,
      price_list_requests: 1,
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

/** Seconds after which a client may find that the sweep resumed an attempt. */
const SWEPT_AFTER = AFTER_NEXT_SWEEP;

test('the key record and the request record hold the trace of the request that claimed the key', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  const { json } = await service.call('addPriceLists', { json: createPriceListBody(1), headers });
  const { document_id } = json as AddPriceListsBody;
  const request = await service.db.doc(`price_list_requests/${document_id}`).get();
  expect([(await readSingleKeyRecord(service.db)).data['trace_id'], request.get('trace_id')]).toEqual([trace, trace]);
});

/** The sweep will resume the attempt. */
const expectResumedLater = ({ status, json, headers }: ReceivedResponse) =>
  expect([status, json, headers['retry-after']]).toEqual([409, UNRESOLVED, SWEPT_AFTER]);

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

  test('for a transient cause is followed by 409 with Retry-After until its automatic resumes are used up', async () => {
    await failed();
    const { path } = await readSingleKeyRecord(service.db);
    const getRetryAfter = async () => (await submit(body)).headers['retry-after'];
    expect(await getRetryAfter()).toBeUndefined();
    for (const [automatic_resumes, retryAfter] of [
      [0, SWEPT_AFTER],
      [2, '300'],
      [3, undefined],
    ] as const) {
      await service.db.doc(path).update({ failure_cause: 'stopped', automatic_resumes });
      expect(await getRetryAfter()).toEqual(retryAfter);
      expectConflict(await submit(createPriceListBody(2)), DIFFERS);
    }
  });

  testOfEmbedded(MESSAGE_LIMIT)('before its payload was stored completely has no Retry-After', async () => {
    service.firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.every(({ name }) => name.includes('/payload/')),
      times: Infinity,
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    const response = await submit(createLargePriceListBody(9_500));
    expect([response.status, response.headers['retry-after']]).toEqual([500, undefined]);
    const { data } = await readSingleKeyRecord(service.db);
    expect(data).toMatchObject({
      failure: expect.stringContaining('the payload was not stored completely: ') as string,
      failure_cause: 'error',
    });
  });

  test('keeps its key: the next request returns 409 without Retry-After and changes nothing', async () => {
    await failed();
    const records = await readAllRecords(service.db);
    expectConflict(await submit(body), UNRESOLVED);
    expectConflict(await submit(createPriceListBody(1)), DIFFERS);
    expect(await readAllRecords(service.db)).toEqual(records);
  });

  test('whose failure cannot be stored leaves a lease; the first request after its expiry marks the key as requiring review', async () => {
    service.firestore.faults.inject({
      rpc: 'Commit',
      nth: 2,
      times: Infinity,
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    const first = await submit(body);
    expect([first.status, first.headers['retry-after']]).toEqual([500, SWEPT_AFTER]);
    service.firestore.faults.clear();
    const { path, data } = await readSingleKeyRecord(service.db);
    expect(data['status']).toBe('processing');
    expect((await submit(body)).headers['retry-after']).toBeDefined();

    await service.db.doc(path).update({ lease_expires_at: Date.now() - 1 });
    expectResumedLater(await submit(body));
    expect((await readSingleKeyRecord(service.db)).data).toMatchObject({ status: 'requires_review' });
    const { docs } = await service.db.collection('price_lists').get();
    expect(docs.map((parent) => parent.get('status') as string)).toEqual(['failed']);
  });

  test('with another payload also fails an attempt whose lease expired', async () => {
    service.firestore.faults.inject({
      rpc: 'Commit',
      nth: 2,
      times: Infinity,
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    await submit(body);
    service.firestore.faults.clear();
    const { path } = await readSingleKeyRecord(service.db);
    await service.db.doc(path).update({ lease_expires_at: Date.now() - 1 });
    expectConflict(await submit(createPriceListBody(1)), DIFFERS);
    expect((await readSingleKeyRecord(service.db)).data).toMatchObject({ status: 'requires_review' });
  });

  test('because its lease expired does not complete, though only its last commit was pending', async () => {
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const finish = service.firestore.faults.inject({
      rpc: 'Commit',
      // The claim turns no parent.
      match: ({ request }) => request.writes.length === 3,
      action: { kind: 'call', run: () => held },
    });
    const first = submit(createPriceListBody(2));
    await finish.fired;
    const { path } = await readSingleKeyRecord(service.db);
    await service.db.doc(path).update({ lease_expires_at: Date.now() - 1 });
    expectResumedLater(await submit(createPriceListBody(2)));
    goOn();
    expectResumedLater(await first);
    expect((await readSingleKeyRecord(service.db)).data).toMatchObject({ status: 'requires_review', response: null });
    const parents = await service.db.collection('price_lists').get();
    expect(parents.docs.map((parent) => parent.get('status') as string)).toEqual(['failed']);
  });

  test.each([body, createPriceListBody(2)])(
    'and is released can be claimed again with any payload, and its attempt stays in the history',
    async (next) => {
      await failed();
      const { path, data } = await readSingleKeyRecord(service.db);
      await service.db.doc(path).update({ status: 'released' });
      const response = await created(next);
      expect(response.document_id).not.toBe(data['document_id']);
      const claimed = (await readSingleKeyRecord(service.db)).data;
      expect(claimed).toMatchObject({ status: 'completed', document_id: response.document_id, failure: null });
      expect(claimed['history']).toMatchObject([
        {
          document_id: data['document_id'] as string,
          fingerprint: data['fingerprint'] as string,
          failure: data['failure'] as string,
        },
      ]);
      const { docs } = await service.db.collection('price_lists').get();
      expect(docs.map((parent) => parent.get('status') as string).sort()).toEqual(['failed', 'ready']);
      expect(await countRecords(service.db)).toMatchObject({ price_list_requests: 2, price_list_idempotency: 1 });
      expect((await submit(next)).headers['idempotent-replayed']).toBe('true');
    },
  );

  test.each([
    { status: 'done' },
    { status: 7 },
    { schema_version: 2 },
    { history: null },
    { lease_expires_at: 'soon' },
  ])('with an invalid key record (%j) returns 500 and writes nothing', async (damage) => {
    await created(body);
    const { path } = await readSingleKeyRecord(service.db);
    await service.db.doc(path).update(damage);
    const records = await readAllRecords(service.db);
    const { status, json } = await submit(body);
    expect([status, json]).toEqual([500, { error: 'Internal error' }]);
    expect(await readAllRecords(service.db)).toEqual(records);
  });
});

test('of two products with one id the last is stored, however far apart they are', async () => {
  const { info, products } = createPriceListBody(2_500);
  const others = JSON.stringify(products).slice(1, -1);
  const price = (value: number) => `"twice":{"price_list_price":${value},"expected_forward_cost_price":${value}}`;
  const sent = `{"info":${JSON.stringify(info)},"products":{${price(1)},${others},${price(2)},${price(3)}}}`;
  const { status, json } = await service.call('addPriceLists', { body: sent });
  expect([status, json]).toMatchObject([200, { products_count: 2_501 }]);
  const { price_list } = json as { price_list: { id: string } };
  const entries = service.db.collection(`price_lists/${price_list.id}/products`);
  expect((await entries.count().get()).data().count).toBe(2_501);
  expect((await entries.doc('twice').get()).data()).toEqual({ price_list_price: 3 });
});
