import { randomBytes } from 'node:crypto';
import type { ApiError } from '../../../src/lib/errors';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { KEEPALIVE_MS, LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { WRITE_SIZES } from '../../../src/lib/work-context';
import * as payloads from '../../../src/price-lists/payload';
import { release } from '../../../../command/cli/resolve';
import { TEST_BATCH } from '../../../../test/harness/batches';
import {
  atCommit,
  failCommits,
  getCommits,
  getNames,
  isClaim,
  isEntries,
  isKeyEvent,
} from '../../../../test/harness/commits';
import { BODY, getRejection, getResponse, useCreations } from '../../../../test/harness/creations';
import { TEST_START } from '../../../../test/harness/database';
import { createKeyRecord } from '../../../../test/harness/key-records';
import { readAllRecords, readStoredPayload } from '../../../../test/harness/price-lists';
import { createPriceListBody, parseSubmission } from '../../../../test/harness/submissions';

const { database, create, getKey, readKey, check } = useCreations();

describe('a creation', () => {
  test('stores the key, the request with its payload, both lists and their entries, and the response', async () => {
    const created = await create(BODY, { traceId: 'trace-1' });
    const response = getResponse(created);
    const { document_id, lists, fingerprint } = (await readKey()) as {
      document_id: string;
      fingerprint: string;
      lists: { expected_forward_cost_id: string; price_list_id: string };
    };
    const { expected_forward_cost_id, price_list_id } = lists;
    expect(new Set([document_id, expected_forward_cost_id, price_list_id]).size).toBe(3);
    const list = {
      status: 'ready',
      created_at: TEST_START,
      updated_at: TEST_START,
      currency: 'EGP',
      market_id: 'market-1',
      market_iso: 'EGY',
      name: 'June',
      new_date: { year: 2026, month: 6 },
    };
    const facts = {
      fingerprint,
      market_id: 'market-1',
      products_count: TEST_BATCH + 1,
      trace_id: 'trace-1',
      key_id: 'api-key-1',
    };
    const records = await readAllRecords(database.client);
    expect(records).toEqual({
      [getKey().path]: {
        ...facts,
        document_id,
        schema_version: 1,
        boq_list_id: 'boq-1',
        owner: 'owner-1',
        name: 'June',
        date: '06/2026',
        lists: { ...lists, market_name: 'Egypt', market_iso: 'EGY', currency: 'EGP', currency_differs: true },
        claimed_at: TEST_START,
        lease_expires_at: TEST_START + LEASE_DURATION_MS,
        status: 'completed',
        updated_at: TEST_START,
        response,
        failure: null,
        failure_cause: null,
        failed_tries: 0,
        actions: [],
      },
      [`price_list_requests/${document_id}`]: {
        ...facts,
        schema_version: 1,
        info: { ...BODY.info, currency_iso: 'USD' },
        request_id: 'request-1',
        market_found: true,
        currency_differs: true,
        currency: 'EGP',
        expected_forward_cost_id,
        price_list_id,
        created_at: TEST_START,
        payload_encoding: 'gzip',
        payload_chunks: 1,
      },
      [`price_list_requests/${document_id}/price_list_payload/0000`]: { data: expect.any(Buffer) as Buffer },
      [`expected_forward_costs/${expected_forward_cost_id}`]: list,
      [`price_lists/${price_list_id}`]: { ...list, date: '06/2026' },
      ...Object.fromEntries(
        Object.entries(BODY.products).flatMap(([id, { price_list_price, expected_forward_cost_price }]) => [
          [`expected_forward_costs/${expected_forward_cost_id}/products/${id}`, { expected_forward_cost_price }],
          [`price_lists/${price_list_id}/products/${id}`, { price_list_price }],
        ]),
      ),
    });
    expect(JSON.parse(response)).toEqual({
      success: true,
      message: 'Payload is valid and stored',
      products_count: TEST_BATCH + 1,
      document_id,
      market: { id: 'market-1', name: 'Egypt', iso: 'EGY' },
      expected_forward_cost: { id: expected_forward_cost_id, ...list },
      price_list: { id: price_list_id, ...list, date: '06/2026' },
    });
    const marketFacts = { market_found: true, currency_differs: true };
    expect(created.result).toEqual({ response, replayed: false, facts: marketFacts });
    await check(BODY);
  });

  test('of one full batch per list makes six calls', async () => {
    const calls = database.recordCalls();
    getResponse(await create(createPriceListBody(TEST_BATCH)));
    const commits = getCommits(calls);
    expect(calls.map(({ rpc }) => rpc)).toEqual([
      'BatchGetDocuments',
      'Commit',
      'Commit',
      'Commit',
      'BatchGetDocuments',
      'Commit',
    ]);
    expect(commits.map(isEntries)).toEqual([false, true, true, false]);
  });

  test('logs its claim, and its completion with the times of both', async () => {
    atCommit(database, isEntries, () => database.clock.advance(700));
    const { logged, context } = await create();
    const times = { claimed_at: TEST_START, updated_at: TEST_START + 700 };
    expect(logged).toEqual([
      ['claimed', expect.objectContaining({ owner: 'owner-1', status: 'processing' })],
      ['completed', expect.objectContaining({ owner: 'owner-1', status: 'completed', ...times })],
    ]);
    expect(Object.keys(context.counters.phasesMs)).toEqual(['claim', 'entries', 'completion']);
  });

  test('is replayed for the same payload and rejected for a different one (powertools-lambda-typescript #5705)', async () => {
    const response = getResponse(await create());
    const calls = database.recordCalls();
    expect(await create()).toMatchObject({ result: { response, replayed: true }, logged: [] });
    expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments']);
    expect(getRejection(await create({ ...BODY, info: { ...BODY.info, name: 'July' } }))).toEqual([
      'idempotency_key_reused',
      undefined,
    ]);
    await check(BODY);
  });

  test('is rejected while another creation for its key is in progress, and does not change that one (powertools-lambda-typescript #5675)', async () => {
    let other: unknown;
    atCommit(database, isEntries, async () => {
      const lists = await database.client.collection('price_lists').get();
      expect(lists.docs.map((list) => list.get('status') as unknown)).toEqual(['processing']);
      const before = await readKey();
      const { result, logged } = await create();
      expect(await readKey()).toEqual(before);
      other = [(result as ApiError).code, (result as ApiError).headers, logged];
    });
    getResponse(await create());
    expect(other).toEqual(['request_in_progress', { 'Retry-After': '10' }, []]);
  });

  test('leaves to an operator a key record that names another key', async () => {
    await getKey().set({ ...createKeyRecord(), boq_list_id: 'boq-2' });
    const before = await readKey();
    const created = await create();
    expect(getRejection(created)).toEqual(['review_required', undefined]);
    expect(created.result).toMatchObject({ needsOperator: true });
    expect(await readKey()).toEqual(before);
  });

  test('that is replayed does not compress its payload', async () => {
    await create();
    const compress = jest.spyOn(payloads, 'compressToChunks');
    await create();
    expect(compress).not.toHaveBeenCalled();
  });

  test('for a market that does not exist completes in the commit of its claim, and creates no lists', async () => {
    const body = createPriceListBody(3, { market_id: 'nowhere' });
    const calls = database.recordCalls();
    const created = await create(body);
    expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments', 'Commit']);
    const facts = { market_found: false, currency_differs: false };
    expect(created).toMatchObject({ result: { replayed: false, facts }, logged: [['completed', { lists: null }]] });
    expect(JSON.parse(getResponse(created))).toEqual({
      success: true,
      message: 'Payload is valid and stored',
      products_count: 3,
      document_id: expect.any(String) as string,
      market: null,
      expected_forward_cost: null,
      price_list: null,
    });
    expect(await readKey()).toMatchObject({ status: 'completed', lists: null, updated_at: TEST_START });
    await check(body);
  });

  test.each([
    ['10,000 bytes stores them', 'é'.repeat(5_000), 'é'.repeat(5_000)],
    ['more than 10,000 bytes treats them as missing', `${'é'.repeat(5_000)}x`, null],
  ])('for a market whose texts have %s', async (_, text, expected) => {
    await database.client.doc('markets/market-1').set({ name: { en: text }, country_iso: text, currency_iso: text });
    const { result } = await create();
    const iso = expected?.toUpperCase() ?? null;
    expect(result).toMatchObject({ facts: { market_found: true, currency_differs: iso !== null } });
    expect((await readKey())['lists']).toMatchObject({
      market_name: expected,
      market_iso: iso,
      currency: iso ?? 'USD',
    });
  });
});

describe('a large payload', () => {
  test('is stored in chunks by the commit of the claim alone', async () => {
    const body = createPriceListBody(60);
    const calls = database.recordCalls();
    getResponse(await create(body, { sizes: { batchEntries: TEST_BATCH, chunkBytes: 40 } }));
    const { document_id } = (await readKey()) as { document_id: string };
    const chunks = getCommits(calls).map((call) =>
      getNames(call).filter((name) => name.includes('/price_list_payload/')),
    );
    expect(chunks[0]?.length).toBeGreaterThan(10);
    expect(chunks.slice(1).flat()).toEqual([]);
    const stored = await readStoredPayload(database.client, document_id);
    expect(stored).toBe([...payloads.streamCanonicalJson(parseSubmission(body))].join(''));
    await check(body);
  });

  test('of random ids is stored in chunks that Firestore accepts', async () => {
    const prices = { price_list_price: 1, expected_forward_cost_price: 2 };
    const ids = Array.from({ length: 1_200 }, () => randomBytes(1_050).toString('base64url'));
    const body = { ...createPriceListBody(0), products: Object.fromEntries(ids.map((id) => [id, prices])) };
    getResponse(await create(body, { sizes: WRITE_SIZES }));
    await check(body);
  });
});

test('a claim with transient errors is retried for longer than a dead connection stays unnoticed, and then throws the error', async () => {
  const { interval, timeout } = KEEPALIVE_MS;
  failCommits(database, isClaim, { code: 'UNAVAILABLE' });
  expect((await create()).result).toMatchObject({ code: 14 });
  const took = database.clock.now() - TEST_START;
  expect(took).toBeGreaterThan(interval + timeout);
  expect(took).toBeLessThan(2 * 60_000);
});

describe('a lost reply', () => {
  test.each([
    ['claim', isClaim],
    ['completion', isKeyEvent],
  ])('to the %s neither stops the creation nor lets it take effect twice', async (_, match) => {
    failCommits(database, match, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    const created = await create();
    expect(created.result).toMatchObject({ replayed: false });
    expect(created.context.counters.retries).toBe(1);
    await check(BODY);
  });

  test('to the completion does not stop the creation, even if the error is not retried', async () => {
    failCommits(database, isKeyEvent, { times: 1, when: 'after' });
    const { result, logged } = await create();
    expect(result).toMatchObject({ replayed: false });
    expect(logged.map(([event]) => event)).toEqual(['claimed', 'completed']);
  });

  test('to the claim does not let the request claim the key again after an operator has released it', async () => {
    const body = createPriceListBody(1, { market_id: 'nowhere' });
    failCommits(database, isClaim, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    const run = async () => {
      const { db } = database.open();
      await release((await readKey()) as unknown as KeyRecord, { by: 'operator', reason: null }, db);
    };
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 2, action: { kind: 'call', run } });
    const created = await create(body);
    expect(getRejection(created)).toEqual(['review_required', undefined]);
    expect(created.result).toMatchObject({ needsOperator: false });
    expect(await readKey()).toMatchObject({ status: 'released' });
    expect((await database.client.collection('price_list_requests').get()).size).toBe(1);
  });

  test('is not assumed if the claim gets a permanent error, which the creation throws', async () => {
    failCommits(database, isClaim, { times: 1 });
    const { result, logged } = await create();
    expect(result).toMatchObject({ code: 7 });
    expect(logged).toEqual([]);
    expect((await getKey().get()).exists).toBe(false);
  });
});
