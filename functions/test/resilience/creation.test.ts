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

test('a creation of 1203 products makes 2 + 2·⌈N/500⌉ + 2 calls, and its replay one', async () => {
  const calls = service.recordCalls();
  const body = createPriceListBody(1203);
  expect((await service.call('addPriceLists', { json: body })).status).toBe(200);
  expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => 'OK'));
  expect(calls).toHaveLength(2 + 2 * 3 + 2);

  const before = calls.length;
  expect((await service.call('addPriceLists', { json: body })).headers['idempotent-replayed']).toBe('true');
  expect(calls.slice(before).map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments']);
  await checkInvariants(service.db, [parseSubmission(body)]);
});

testOfEmbedded(MESSAGE_LIMIT)(
  'a payload of more than one commit is stored whole before the first entry',
  async () => {
    const COUNT = 9_500;
    // On a slow machine it takes longer than the lease goes without a renewal.
    const now = Date.now();
    jest.spyOn(systemClock, 'now').mockImplementation(() => now);
    const calls = service.recordCalls();
    const body = createLargePriceListBody(COUNT);
    const response = await service.call('addPriceLists', { json: body });
    const made = [...calls];
    jest.restoreAllMocks();
    expect(response.status).toBe(200);
    const commits = made.filter(({ rpc, request }) => rpc === 'Commit' && 'writes' in request);
    const chunkCommits = commits.filter(({ request }) => 'writes' in request && request.writes.length === 1);
    expect(chunkCommits.length).toBeGreaterThan(0);
    expect(commits.slice(1, 1 + chunkCommits.length)).toEqual(chunkCommits);
    expect(made.length).toBe(2 + 2 * Math.ceil(COUNT / 500) + 2 + chunkCommits.length);
    expect((await service.call('addPriceLists', { json: body })).text).toBe(response.text);
    await checkInvariants(service.db, [parseSubmission(body)]);
  },
  300_000,
);

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
