import { addPriceLists } from '../../src/add-price-lists';
import { getTeams } from '../../src/get-teams';
import * as payloadLimits from '../../src/lib/payload-limits';
import { listOptions, rangeOptions, sweepOptions, writeOptions } from '../../src/lib/runtime-options';
import * as limits from '../../src/lib/time-limits';
import { sweepPriceLists } from '../../src/sweep-price-lists';
import { isEntries } from '../../../test/harness/commits';
import { submitAndFail, updateKey, writeMarket } from '../../../test/harness/price-lists';
import { CRASHED } from '../../../test/harness/failed-attempts';
import { useTestService } from '../../../test/harness/service';
import { createPriceListBody } from '../../../test/harness/submissions';

/** Tests that a function stops itself before the platform would end it, and the values of the limits. */

const service = useTestService({ getTeams, addPriceLists });
beforeEach(() => writeMarket(service.db));
afterEach(() => jest.restoreAllMocks());

const readKey = async () => {
  const [key] = (await service.db.collection('price_list_idempotency').get()).docs;
  if (key === undefined) throw new Error('there is no key');
  return key;
};

let endTest = (): unknown => undefined;
afterEach(() => endTest());

/** Holds the commits of entries until the test ends, because a fault `hang` would let them time out only during the next suite. */
function holdEntries(): void {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  endTest = () => resolve(undefined);
  const action = { kind: 'call', run: () => promise } as const;
  service.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: Infinity, action });
}

/**
 * Runs a function whose timeout leaves it one second, besides the time that it has to reserve. A creation or sweep
 * that did not reserve the minute for storing its failure, or a function without a limit, would take too long.
 */
async function runForASecond<T>(options: { timeoutSeconds: number }, reservedSeconds: number, run: () => Promise<T>) {
  jest.replaceProperty(options, 'timeoutSeconds', reservedSeconds + 1);
  const startedAt = performance.now();
  const result = await run();
  expect(performance.now() - startedAt).toBeLessThan(Math.min(reservedSeconds, 40) * 1000);
  return result;
}

test('a read that hangs gets a 500', async () => {
  service.firestore.faults.inject({ rpc: 'RunQuery', times: Infinity, action: { kind: 'hang' } });
  const response = await runForASecond(getTeams.operation.runtimeOptions, 5, () => service.call('getTeams'));
  expect(response).toMatchObject({ status: 500, json: { error: 'Internal error' } });
  expect(service.log).toMatchObject([{ event: 'request', reason: 'the time for the request is up' }]);
});

test('the key of a creation that hangs requires review because of the time limit, and the client gets a 500', async () => {
  holdEntries();
  const call = () => service.call('addPriceLists', { json: createPriceListBody(2) });
  const { status } = await runForASecond(addPriceLists.operation.runtimeOptions, 75, call);
  const key = await readKey();
  expect([status, key.get('status'), key.get('failure_cause')]).toEqual([500, 'requires_review', 'timeout']);
});

test('a sweep whose resume hangs fails the attempt at the time limit of the sweep, and ends', async () => {
  await submitAndFail(service, createPriceListBody(501));
  await updateKey((await readKey()).ref, CRASHED);
  holdEntries();
  await runForASecond(sweepOptions, 75, async () => sweepPriceLists.run({ scheduleTime: new Date().toISOString() }));
  const key = await readKey();
  expect([key.get('status'), key.get('failure_cause')]).toEqual(['requires_review', 'timeout']);
  expect(service.log.at(-1)).toMatchObject({ event: 'sweep_ended', deferred: 1, interrupted: true });
});

test('the limits of time, memory, concurrency and bodies have the expected values', () => {
  const work = [listOptions, rangeOptions].map((options) => limits.getTimeLimitMs(options, false));
  expect(work).toEqual([115_000, 115_000]);
  expect([writeOptions, sweepOptions].map((options) => limits.getTimeLimitMs(options, true))).toEqual([
    1_125_000, 1_725_000,
  ]);
  expect([listOptions, rangeOptions, writeOptions, sweepOptions]).toMatchObject([
    { timeoutSeconds: 120, memory: '512MiB', concurrency: 40 },
    { timeoutSeconds: 120, memory: '1GiB', concurrency: 16 },
    { timeoutSeconds: 1_200, memory: '2GiB', concurrency: 4 },
    { timeoutSeconds: 1_800, memory: '2GiB', concurrency: 1, maxInstances: 1 },
  ]);
  expect(limits).toMatchObject({
    CALL_TIMEOUTS_MS: { read: 10_000, commit: 20_000, query: 45_000 },
    RETRY_MS: { outage: 60_000, attempt: Infinity },
    RENEWAL_INTERVAL_MS: 20_000,
    LEASE_DURATION_MS: 40_000,
    FAILURE_RESERVE_MS: 60_000,
    STOP_RESERVE_MS: 2_000,
    STOP_MS: { abortWrites: 5_000, stopWaiting: 8_000, exit: 9_000 },
    SWEEP_INTERVAL_MS: 60_000,
  });
  expect(payloadLimits).toMatchObject({
    READ_BODY_LIMITS: { maxBytes: 1_048_576, timeoutMs: 30_000 },
    PRICE_LISTS_BODY_LIMITS: { maxBytes: 33_554_432, timeoutMs: 240_000 },
  });
});
