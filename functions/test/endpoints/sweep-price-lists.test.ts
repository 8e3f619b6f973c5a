import { systemClock } from '../../src/lib/clock';
import { StoppedError } from '../../src/lib/errors';
import { shutdown } from '../../src/lib/instance/shutdown';
import { sweepPriceLists } from '../../src/sweep-price-lists';
import { isEntries } from '../../../test/harness/commits';
import { CRASHED } from '../../../test/harness/failed-attempts';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { writeRecords } from '../../../test/harness/stored';
import { waitUntilFired } from '../../../test/harness/wait-for';

/** Tests the scheduled sweep without HTTP. ../modules/price-lists/sweep.test.ts tests its decisions. */

const { service, getKey, failAttempt, expectReplayed } = usePriceListService();

const deliver = async () => sweepPriceLists.run({ scheduleTime: new Date().toISOString() });

const getEvents = () => service.log.map(({ severity, event }) => [severity, event]);

test('a sweep resumes every due key that needs no operator, logs each with the id of its request record, and then logs that the sweep ended', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const key of keys) await failAttempt(key, CRASHED);
  await failAttempt('left');
  await deliver();
  const resumed = service.log.filter(({ event }) => event === 'price_list_resumed');
  for (const line of resumed) expect(line['since_claim_ms']).toBeGreaterThan(0);
  expect(resumed[0]).toMatchObject({ market_found: true, currency_differs: true, outcome: 'other_currency' });
  const records = await Promise.all(keys.map(async (key) => (await getKey(key).get()).get('document_id') as string));
  expect(resumed.map(({ document_id }) => document_id).sort()).toEqual(records.sort());
  const end = { event: 'sweep_ended', resumed: 6, deferred: 0, left: 1, interrupted: false };
  expect(service.log.at(-1)).toMatchObject({ severity: 'INFO', ...end });
  for (const key of keys) await expectReplayed(key);
});

test('a sweep ends after one query if nothing is due', async () => {
  await failAttempt('completed', CRASHED);
  await deliver();
  const calls = service.recordCalls();
  await deliver();
  expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery']);
});

test('a sweep fails the attempt that it is resuming when the instance stops, and does not count the stop as a failed try', async () => {
  await failAttempt('a', { ...CRASHED, failed_tries: 0 });
  const stop = new AbortController();
  jest.replaceProperty(shutdown, 'abortWrites', stop);
  const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
  const action = { kind: 'call', run: () => promise } as const;
  const held = service.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action });
  const swept = deliver();
  await waitUntilFired(held, swept);
  stop.abort(new StoppedError('the instance is stopping'));
  await swept;
  expect(service.log.at(-1)).toMatchObject({ event: 'sweep_ended', deferred: 1, interrupted: true });
  expect((await getKey('a').get()).data()).toMatchObject({
    status: 'requires_review',
    failure_cause: 'stopped',
    // The one failed try is the one whose lease expired before the resume.
    failed_tries: 1,
    actions: [],
  });
  letGo(undefined);
  jest.restoreAllMocks();
});

test('a sweep begins no resume after 600 s, and the next sweep resumes the key that is still due', async () => {
  await failAttempt('a', CRASHED);
  const { createTimeout } = systemClock;
  const timeouts: number[] = [];
  jest.spyOn(systemClock, 'createTimeout').mockImplementation((ms, ...rest) => {
    timeouts.push(ms);
    return createTimeout(ms === 600_000 ? 0 : ms, ...rest);
  });
  await deliver();
  // A resume that begins within 600 s has at least 1,125 s, the time limit of a creation.
  expect(timeouts.slice(0, 2)).toEqual([1_725_000, 600_000]);
  expect(service.log).toMatchObject([{ event: 'sweep_ended', resumed: 0, deferred: 0, interrupted: false }]);
  jest.restoreAllMocks();
  await deliver();
  expect(service.log.at(-1)).toMatchObject({ event: 'sweep_ended', resumed: 1 });
});

test('a sweep does nothing while writes are paused, and logs that', async () => {
  await failAttempt('a', CRASHED);
  service.setConfig({ WRITES_PAUSED: 'true' });
  const calls = service.recordCalls();
  await deliver();
  expect([calls, getEvents()]).toEqual([[], [['NOTICE', 'sweep_paused']]]);
});

test('a sweep that cannot read the keys logs a failure, and does not throw', async () => {
  service.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
  await deliver();
  expect(getEvents()).toEqual([['ERROR', 'sweep_failed']]);
  expect(service.log[0]).toMatchObject({ resumed: 0, deferred: 0, left: 0, unreadable: 0 });
});

test('a sweep logs the first ten unreadable records, and counts all of them', async () => {
  const damaged = Array.from({ length: 12 }, (_, i) => [`damaged-${i}`, { sweep_due_at: 1 }] as const);
  await writeRecords(service.db, 'price_list_idempotency', Object.fromEntries(damaged));
  await deliver();
  expect(getEvents().filter(([, event]) => event === 'key_record_unreadable')).toHaveLength(10);
  expect(service.log.at(-1)).toMatchObject({ event: 'sweep_ended', unreadable: 12 });
});
