import { addPriceLists } from '../../src/add-price-lists';
import { systemClock } from '../../src/lib/clock';
import { MESSAGE_LIMIT, testOfEmbedded } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createLargePriceListBody, createPriceListBody, parseSubmission } from '../support/submissions';
import { checkInvariants } from './invariants';

/** How many calls a creation makes, and what becomes of many at once. */

const service = useTestService({ addPriceLists });

beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

test.each([1, 500, 501, 1203])('a creation of %i products makes 2 + 2·⌈N/500⌉ + 2 calls', async (count) => {
  const calls = service.recordCalls();
  const body = createPriceListBody(count);
  expect((await service.call('addPriceLists', { json: body })).status).toBe(200);
  expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => 'OK'));
  expect(calls).toHaveLength(2 + 2 * Math.ceil(count / 500) + 2);

  const before = calls.length;
  expect((await service.call('addPriceLists', { json: body })).headers['idempotent-replayed']).toBe('true');
  expect(calls.slice(before).map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments']);
  await checkInvariants(service.db, [parseSubmission(body)]);
});

test('a market that does not exist takes two calls', async () => {
  const calls = service.recordCalls();
  const body = createPriceListBody(1203, { market_id: 'nowhere' });
  const { status, json } = await service.call('addPriceLists', { json: body });
  expect([status, json]).toEqual([200, expect.objectContaining({ market: null, price_list: null })]);
  expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments', 'Commit']);
  await checkInvariants(service.db, [parseSubmission(body)]);
});

const LARGE_COUNT = 9_500;
const large = createLargePriceListBody(LARGE_COUNT);
const largeBody = (market_id: string) => ({ ...large, info: { ...large.info, market_id } });

describe('a payload of more than one commit', () => {
  const test = testOfEmbedded(MESSAGE_LIMIT);

  test('is stored whole before the first entry', async () => {
    // On a slow machine it takes longer than the lease goes without a renewal.
    const now = Date.now();
    jest.spyOn(systemClock, 'now').mockImplementation(() => now);
    const calls = service.recordCalls();
    const body = largeBody('market-1');
    const response = await service.call('addPriceLists', { json: body });
    const made = [...calls];
    jest.restoreAllMocks();
    expect(response.status).toBe(200);
    const commits = made.filter(({ rpc, request }) => rpc === 'Commit' && 'writes' in request);
    const chunkCommits = commits.filter(({ request }) => 'writes' in request && request.writes.length === 1);
    expect(chunkCommits.length).toBeGreaterThan(0);
    expect(commits.slice(1, 1 + chunkCommits.length)).toEqual(chunkCommits);
    expect(made.length).toBe(2 + 2 * Math.ceil(LARGE_COUNT / 500) + 2 + chunkCommits.length);
    expect((await service.call('addPriceLists', { json: body })).text).toBe(response.text);
    await checkInvariants(service.db, [parseSubmission(body)]);
  }, 300_000);

  test('is stored whole before the completion when its market does not exist', async () => {
    const body = largeBody('nowhere');
    const calls = service.recordCalls();
    const response = await service.call('addPriceLists', { json: body });
    expect([response.status, response.json]).toEqual([
      200,
      expect.objectContaining({ market: null, price_list: null }),
    ]);
    const [request] = (await service.db.collection('price_list_requests').get()).docs;
    const chunks = request?.get('payload_chunks') as number;
    const commits = calls.flatMap(({ request }) =>
      'writes' in request ? [request.writes.map(({ name }) => name)] : [],
    );
    const [lastChunk, completion] = commits.slice(-2);
    expect(lastChunk).toEqual([expect.stringMatching(new RegExp(`/payload/${String(chunks - 1).padStart(4, '0')}$`))]);
    expect(completion).toEqual([expect.stringContaining('/price_list_idempotency/')]);
    await checkInvariants(service.db, [parseSubmission(body)]);
  }, 300_000);

  test('that was not stored whole leaves what can only be released', async () => {
    const body = largeBody('market-1');
    service.firestore.faults.inject({ rpc: 'Commit', nth: 2, action: { kind: 'error', code: 'PERMISSION_DENIED' } });
    expect((await service.call('addPriceLists', { json: body })).status).toBe(500);
    const records = await checkInvariants(service.db, [parseSubmission(body)]);
    expect(records.get('boq-1')?.status).toBe('requires_review');
  }, 300_000);
});

test('of fifty requests at once one creates the lists, and every response is 200 or 409', async () => {
  const body = createPriceListBody(501);
  const responses = await Promise.all(Array.from({ length: 50 }, () => service.call('addPriceLists', { json: body })));
  const stored = responses.filter(({ status }) => status === 200);
  expect(stored.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
  expect(new Set(stored.map(({ text }) => text)).size).toBe(1);
  for (const { json, headers } of responses.filter(({ status }) => status !== 200)) {
    expect(json).toEqual({ error: 'Request is already being processed or requires review' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  }
  const rejected = responses.filter(({ status }) => status === 409);
  expect(stored.length + rejected.length).toBe(50);
  await checkInvariants(service.db, [parseSubmission(body)]);
}, 300_000);

test('of fifty at once with a payload each, one creates and the others are told so', async () => {
  const bodies = Array.from({ length: 50 }, (_, i) => createPriceListBody(3, { name: `payload ${i}` }));
  const responses = await Promise.all(bodies.map((json) => service.call('addPriceLists', { json })));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const { status, json } of responses.filter(({ status }) => status !== 200)) {
    expect([status, json]).toEqual([409, { error: 'Idempotency key already used with a different payload' }]);
  }
  await checkInvariants(service.db, bodies.map(parseSubmission));
});
