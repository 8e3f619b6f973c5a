import { addPriceLists } from '../../src/add-price-lists';
import { getTeams } from '../../src/get-teams';
import { systemClock } from '../../src/lib/clock';
import { PRICE_LISTS_BODY_LIMITS } from '../../src/lib/payload-limits';
import { getTimeLimitMs } from '../../src/lib/time-limits';
import { sweepPriceLists } from '../../src/sweep-price-lists';
import { isEntries } from '../support/commits';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/** A function stops itself before the platform would end it. */

const service = useTestService({ getTeams, addPriceLists });
beforeEach(() => service.reset());
afterEach(() => jest.restoreAllMocks());

/** Shortens the timeout of a function, so that it works for at most a second. */
function replaceTimeout({ operation: { runtimeOptions } }: typeof getTeams, writes: boolean): void {
  const { timeoutSeconds } = runtimeOptions;
  const reservedSeconds = timeoutSeconds - getTimeLimitMs(runtimeOptions, writes) / 1_000;
  jest.replaceProperty(runtimeOptions, 'timeoutSeconds', reservedSeconds + 1);
}

test('a read that hangs gets a 500', async () => {
  replaceTimeout(getTeams, false);
  service.firestore.faults.inject({ rpc: 'RunQuery', times: Infinity, action: { kind: 'hang' } });
  expect(await service.call('getTeams')).toMatchObject({ status: 500, json: { error: 'Internal error' } });
  expect(service.log).toMatchObject([{ event: 'request', reason: 'the time for the request is up' }]);
});

test('a creation that hangs requires review because of its time limit, and gets a 500', async () => {
  await writeMarket(service.db);
  replaceTimeout(addPriceLists, true);
  const action = { kind: 'hang' } as const;
  service.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: Infinity, action });
  const { status } = await service.call('addPriceLists', { json: createPriceListBody(2) });
  const [key] = (await service.db.collection('price_list_idempotency').get()).docs;
  expect([status, key?.get('status'), key?.get('failure_cause')]).toEqual([500, 'requires_review', 'timeout']);
});

test('a read, a creation and a sweep have the time limits of the pages', async () => {
  const createTimeout = jest.spyOn(systemClock, 'createTimeout');
  await service.call('getTeams');
  await service.call('addPriceLists', { body: '{' });
  await sweepPriceLists.run({ scheduleTime: new Date().toISOString() });
  const limits = createTimeout.mock.calls.map(([ms]) => ms);
  // docs/api.md#limits, and 60 s less than the timeout of the sweep.
  expect(limits.filter((ms) => ms >= 100_000)).toEqual([
    115_000,
    1_140_000,
    PRICE_LISTS_BODY_LIMITS.timeoutMs,
    1_740_000,
  ]);
});

test('the limits leave time for the response, and with writes for failing the attempt', () => {
  expect([false, true].map((writes) => getTimeLimitMs({ timeoutSeconds: 120 }, writes))).toEqual([115_000, 60_000]);
});
