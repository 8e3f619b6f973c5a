import { setTimeout as delay } from 'node:timers/promises';
import type { Call } from '../../../../emulator/src';
import { systemClock, type Clock } from '../../../src/lib/clock';
import { StoppedError } from '../../../src/lib/errors';
import type { WorkContext } from '../../../src/lib/work-context';
import { keyDocumentId, type KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { sweep, type SweepReporter } from '../../../src/price-lists/sweep';
import { atCommit, failCommits, getNames, isEntries, isKeyEvent } from '../../../../test/harness/commits';
import { TEST_START } from '../../../../test/harness/database';
import { CRASHED, STOPPED, useFailedAttempts } from '../../../../test/harness/failed-attempts';
import { createKeyRecord } from '../../../../test/harness/key-records';
import { updateKey } from '../../../../test/harness/price-lists';
import { writeRecords } from '../../../../test/harness/stored';
import { waitFor, waitUntilFired } from '../../../../test/harness/wait-for';

const { database, create, getKey, readKey, fail, deletePayload } = useFailedAttempts();

const MINUTE = 60_000;

/** Matches the query for chunks of a payload. */
const isPayload = ({ request }: Call<'RunQuery'>) => request.query.collectionId === 'price_list_payload';

const failPayloadReads = (code: 'UNAVAILABLE' | 'PERMISSION_DENIED', times = 1_000) =>
  database.firestore.faults.inject({ rpc: 'RunQuery', match: isPayload, times, action: { kind: 'error', code } });

const isEntriesOf = ({ lists }: KeyRecord) => {
  const path = `/price_lists/${lists?.price_list_id}/`;
  return (call: Call<'Commit'>) => isEntries(call) && getNames(call).some((name) => name.includes(path));
};

type Options = Partial<WorkContext & SweepReporter> & { stopping?: AbortSignal };

function startSweep({ stopping, onResult, onUnreadable, ...changed }: Options = {}) {
  const { db } = database.open(changed);
  const results: { key: string; result: string; reason: string | null; sinceClaimMs: number }[] = [];
  const unreadable: string[] = [];
  const reporter: SweepReporter = {
    onResult: async (result, record) => {
      await onResult?.(result, record);
      const { boq_list_id: key, claimed_at } = record;
      const { time, ...rest } = result;
      results.push({ key, ...rest, sinceClaimMs: time - claimed_at });
    },
    onUnreadable: async (path) => {
      await onUnreadable?.(path);
      unreadable.push(path);
    },
  };
  return { ended: sweep(db, reporter, stopping), results, unreadable };
}

async function runSweep(options?: Options) {
  const { ended, results, unreadable } = startSweep(options);
  await ended;
  return { unreadable, results: results.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** Runs a sweep. @returns each key with its result */
const sweepAll = async (options?: Options) =>
  (await runSweep(options)).results.map(({ key, result }) => `${key} ${result}`);

/**
 * Creates a clock for a sweep whose commit a test holds. The next pass of the sweep begins when the clock of the test says so.
 * All other timeouts use the real clock and are long: if a call timed out on a busy machine, its retry would advance the
 * clock of the test.
 */
function createHoldingClock(): Clock {
  return {
    elapsedMs: () => database.clock.elapsedMs(),
    sleep: (...args) => database.clock.sleep(...args),
    createTimeout: (ms, createReason, ...parents) => {
      const reason = createReason();
      if (reason.message !== 'the next pass begins')
        return systemClock.createTimeout(600_000, createReason, ...parents);
      const controller = new AbortController();
      const endsAt = database.clock.elapsedMs() + ms;
      const timer = setInterval(() => database.clock.elapsedMs() >= endsAt && controller.abort(reason), 10);
      return { signal: controller.signal, cancel: () => clearInterval(timer) };
    },
  };
}

describe('a sweep', () => {
  test('resumes attempts that crashed or were stopped, and reports with a reason those that need an operator', async () => {
    await fail('crashed', { ...CRASHED, failed_tries: 0 });
    await fail('exhausted', { ...CRASHED, failed_tries: 3 });
    await deletePayload(await fail('incomplete', STOPPED));
    const live = await fail('live', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    const rejected = await fail('rejected');
    await fail('stopped', { ...STOPPED, failed_tries: 3, updated_at: TEST_START - 5 * MINUTE });
    await create('completed');
    database.clock.advance(1_000);
    expect((await runSweep()).results.map((each) => Object.values(each))).toEqual([
      ['crashed', 'resumed', null, 1_000],
      ['exhausted', 'left', '4 tries failed since the claim or the last resume by an operator', 1_000],
      ['incomplete', 'left', 'the failure is not transient: payload chunks are missing', 1_000],
      ['rejected', 'left', `the failure is not transient: ${rejected.failure}`, 1_000],
      ['stopped', 'resumed', null, 1_000],
    ]);
    expect(await readKey('crashed')).toMatchObject({ status: 'completed', failed_tries: 1, actions: [] });
    expect(await readKey('stopped')).toMatchObject({ status: 'completed', failed_tries: 3, actions: [] });
    expect(await readKey('incomplete')).toMatchObject({ status: 'requires_review', failure_cause: 'error' });
    expect(await readKey('exhausted')).toMatchObject({ status: 'requires_review', failure_cause: 'lease_expired' });
    expect(await readKey('rejected')).toEqual({ ...rejected, sweep_due_at: undefined });
    expect(await readKey('live')).toEqual(live);
  });

  test('runs three resumes at a time', async () => {
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await fail(key, STOPPED);
    let most = 0;
    const count = async () => {
      const { docs } = await database.client.collection('price_list_idempotency').get();
      most = Math.max(most, docs.filter((key) => key.get('status') === 'processing').length);
    };
    atCommit(database, isEntries, count, { times: 1_000 });
    expect((await runSweep()).results.map(({ result }) => result)).toEqual(Array(6).fill('resumed'));
    expect(most).toBe(3);
  });

  test('leaves a crashed attempt to an operator when three resumes have failed', async () => {
    await fail('a', { ...CRASHED, failed_tries: 0 });
    failCommits(database, isEntries, { code: 'UNAVAILABLE', times: Infinity });
    const results: string[][] = [];
    for (const delayMs of [0, MINUTE - 1, 1, 5 * MINUTE - 1, 1]) {
      database.clock.advance(delayMs);
      results.push(await sweepAll());
    }
    expect(results).toEqual([['a deferred'], [], ['a deferred'], [], ['a left']]);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'unavailable', failed_tries: 4 });
  });

  test('reports a key as deferred if another process completed it during the resume', async () => {
    const record = await fail('a', STOPPED);
    const completed = { owner: 'another', status: 'completed', response: '{}' };
    atCommit(database, isEntriesOf(record), () => getKey('a').update(completed));
    expect((await runSweep()).results).toMatchObject([
      { key: 'a', result: 'deferred', reason: 'another process has changed the key: completed' },
    ]);
    expect(await readKey('a')).toMatchObject(completed);
  });

  test('reports once that a key needs an operator, despite a short outage, and the next sweep does not read its record', async () => {
    await fail('a', { ...CRASHED, failed_tries: 3 });
    await fail('b');
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', times: 4, action });
    expect(await sweepAll()).toEqual(['a left', 'b left']);
    const calls = database.recordCalls();
    expect(await sweepAll()).toEqual([]);
    expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery']);
  });

  test('skips a key whose due time has passed if its lease has not expired', async () => {
    const live = await fail('live', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    await getKey('live').update({ sweep_due_at: 1 });
    const calls = database.recordCalls();
    expect(await sweepAll()).toEqual([]);
    expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(new Set(['RunQuery']));
    expect(await readKey('live')).toEqual({ ...live, sweep_due_at: 1 });
  });

  test('reads more due keys than one query returns, even if they stay due, and removes nothing but the due time from unreadable records', async () => {
    const left = Array.from({ length: 30 }, (_, i) => {
      const failure = { status: 'requires_review', failure: 'no access', failure_cause: 'error' } as const;
      const record = createKeyRecord({ boq_list_id: `left-${i}`, ...failure });
      return [keyDocumentId(`left-${i}`), { ...record, sweep_due_at: 2 }] as const;
    });
    const damaged = Array.from({ length: 30 }, (_, i) => [`damaged-${i}`, { sweep_due_at: i % 3, owner: i }] as const);
    for (const records of [left, damaged])
      await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries<object>(records));
    const fault = failCommits(database, (call) => left.some(([id]) => getNames(call).join().includes(id)));
    const { unreadable, results } = await runSweep();
    fault.remove();
    expect(unreadable.sort()).toEqual(damaged.map(([id]) => `price_list_idempotency/${id}`).sort());
    expect([results.length, (await runSweep()).results.length]).toEqual([30, 30]);
    expect(await runSweep()).toEqual({ unreadable: [], results: [] });
    const stored = await database.client.doc('price_list_idempotency/damaged-7').get();
    expect(stored.data()).toEqual({ owner: 7 });
  });

  test('resumes a due key, and does not report unreadable records that become due later', async () => {
    const later = Array.from({ length: 30 }, (_, i) => [`later-${i}`, { sweep_due_at: TEST_START + MINUTE }]);
    await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries(later) as Record<string, object>);
    await fail('a', STOPPED);
    expect(await runSweep()).toMatchObject({ unreadable: [], results: [{ key: 'a', result: 'resumed' }] });
  });

  test('ends with the error if it cannot report an unreadable record, which stays in its index', async () => {
    await writeRecords(database.client, 'price_list_idempotency', { damaged: { sweep_due_at: 1 } });
    const error = new Error('the output is closed');
    await expect(runSweep({ onUnreadable: () => Promise.reject(error) })).rejects.toBe(error);
    expect((await runSweep()).unreadable).toEqual(['price_list_idempotency/damaged']);
  });

  test.each<[string, unknown]>([
    ['a boolean', true],
    ['a string', '1'],
    ['null', null],
    ['NaN', NaN],
    ['a date', new Date(0)],
  ])('ends, and reaches due keys, although the due time of other records is %s', async (_, sweep_due_at) => {
    const others = Array.from({ length: 30 }, (_, i) => [`other-${i}`, { sweep_due_at }]);
    await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries(others) as Record<string, object>);
    await fail('a', STOPPED);
    const calls = database.recordCalls();
    expect(await runSweep()).toMatchObject({ unreadable: [], results: [{ key: 'a', result: 'resumed' }] });
    const isDueQuery = (call: Call) => call.rpc === 'RunQuery' && !isPayload(call as Call<'RunQuery'>);
    expect(calls.filter(isDueQuery)).toHaveLength(1);
  });

  test('counts a resume that cannot read its payload as a failed try, and reports the key as deferred after a transient error and as left after a permanent one', async () => {
    await fail('a', { ...STOPPED, failed_tries: 0 });
    const fault = failPayloadReads('UNAVAILABLE');
    expect((await runSweep()).results).toMatchObject([
      { key: 'a', result: 'deferred', reason: expect.stringContaining('UNAVAILABLE') as string },
    ]);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'unavailable', failed_tries: 1 });
    fault.remove();
    failPayloadReads('PERMISSION_DENIED');
    expect((await runSweep()).results).toMatchObject([
      { key: 'a', result: 'left', reason: expect.stringContaining('PERMISSION_DENIED') as string },
    ]);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'error', failed_tries: 2 });
  });

  test('after a minute of transient errors fails the attempt that it is resuming, and reports the key as deferred', async () => {
    await fail('a', STOPPED);
    failCommits(database, isEntries, { code: 'UNAVAILABLE', times: Infinity });
    expect(await sweepAll()).toEqual(['a deferred']);
    expect(Math.abs(database.clock.now() - TEST_START - MINUTE)).toBeLessThan(5_000);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'unavailable', failed_tries: 2 });
  });

  test('retries its calls in an outage, and resumes the key (dbos-transact-py #716)', async () => {
    await fail('a', CRASHED);
    failPayloadReads('UNAVAILABLE', 6);
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'Commit'] as const)
      database.firestore.faults.inject({ rpc, times: 6, action: { kind: 'error', code: 'UNAVAILABLE' } });
    expect(await sweepAll()).toEqual(['a resumed']);
  });

  test('finds each due key once in a pass, however many there are', async () => {
    const failure = { status: 'requires_review', failure: 'no access', failure_cause: 'error' } as const;
    const left = Array.from({ length: 100 }, (_, i) => {
      const record = createKeyRecord({ boq_list_id: `left-${i}`, ...failure });
      return [keyDocumentId(`left-${i}`), { ...record, sweep_due_at: i % 7 }] as const;
    });
    await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries<object>(left));
    const calls = database.recordCalls();
    expect((await runSweep()).results).toHaveLength(100);
    // Five full pages, and an empty sixth page, which ends the pass.
    expect(calls.filter(({ rpc }) => rpc === 'RunQuery')).toHaveLength(6);
  });

  test('resumes a key alone if the last resume of the key may have ended its instance', async () => {
    for (const key of ['a', 'b', 'c']) await fail(key, { ...CRASHED, failed_tries: 1 });
    for (const key of ['d', 'e', 'f']) await fail(key, STOPPED);
    // Two other resumes are running when the sweep finds the first key that it must resume alone.
    for (const key of ['d', 'e']) await getKey(key).update({ sweep_due_at: 0 });
    const together = new Set<string>();
    const note = async () => {
      const { docs } = await database.client.collection('price_list_idempotency').get();
      const held = docs.filter((key) => (key.get('lease_expires_at') as number) > TEST_START);
      const processing = held.filter((key) => key.get('status') === 'processing');
      together.add(
        processing
          .map((key) => key.get('boq_list_id') as string)
          .sort()
          .join(''),
      );
    };
    atCommit(database, isEntries, note, { times: 1_000 });
    expect((await runSweep()).results.map(({ result }) => result)).toEqual(Array(6).fill('resumed'));
    for (const key of ['a', 'b', 'c']) expect([...together].filter((keys) => keys.includes(key))).toEqual([key]);
    expect(together).toContain('de');
  });

  test('that is busy with a long list resumes a key a minute after it could not take the key over', async () => {
    const long = await fail('a', { ...STOPPED, failed_tries: 0 });
    const short = await fail('b', { ...STOPPED, failed_tries: 0 });
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const held = atCommit(database, isEntriesOf(long), () => promise);
    const isTakeOver = (call: Call<'Commit'>) =>
      isKeyEvent(call) && getNames(call).some((name) => name.endsWith(`/${getKey('b').id}`));
    const denied = failCommits(database, isTakeOver);
    failCommits(database, isEntriesOf(short), { code: 'ABORTED', times: 1, when: 'before' });
    const { ended, results } = startSweep({ clock: createHoldingClock() });
    await waitUntilFired(held, ended);
    await waitFor(() => results.length === 1);
    denied.remove();
    const calls = database.recordCalls();
    database.clock.advance(MINUTE - 1);
    await delay(100);
    expect(calls.filter(({ rpc }) => rpc === 'RunQuery')).toEqual([]);
    database.clock.advance(1);
    await waitFor(() => results.length === 2);
    letGo(undefined);
    await ended;
    expect(results.map(({ key, result }) => `${key} ${result}`)).toEqual(['b deferred', 'b resumed', 'a resumed']);
  });

  test('that is stopped fails its running attempts without counting a failed try, and starts no other resume', async () => {
    for (const key of ['a', 'b', 'c', 'd', 'e']) await fail(key, STOPPED);
    const stop = new AbortController();
    atCommit(database, isEntries, () => stop.abort(new StoppedError('this instance stops')));
    const { results } = await runSweep({ signal: stop.signal });
    expect(results.map(({ result, reason }) => [result, reason])).toEqual(
      Array(3).fill(['deferred', 'this instance stops']),
    );
    const states = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(readKey));
    for (const { status, failure_cause, failed_tries } of states)
      expect([status, failure_cause, failed_tries]).toEqual(['requires_review', 'stopped', 1]);
  });

  test('that is stopped while it reads the keys ends without an error', async () => {
    const stop = new AbortController();
    const action = { kind: 'call', run: () => stop.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'RunQuery', action });
    expect(await sweepAll({ signal: stop.signal })).toEqual([]);
  });

  test('starts no resume after it was told to stop, even if it was told during its query', async () => {
    await fail('a', STOPPED);
    expect(await sweepAll({ stopping: AbortSignal.abort() })).toEqual([]);
    const stop = new AbortController();
    database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'call', run: () => stop.abort() } });
    expect(await sweepAll({ stopping: stop.signal })).toEqual([]);
  });

  test('ends with a permanent error of its query for due keys', async () => {
    database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
    await expect(runSweep()).rejects.toMatchObject({ code: 7 });
  });
});

describe('a key that needs an operator is reported', () => {
  beforeEach(() => fail('a', { ...CRASHED, failed_tries: 3 }));

  const LEFT = ['a left'];

  /** Matches the commits with a write that changes only the time at which a key is due. */
  const isDueTime = ({ request: { writes } }: Call<'Commit'>) =>
    writes.some((write) => write.kind === 'update' && write.mask?.join() === 'sweep_due_at');

  test('by both of two sweeps that overlap between report and commit', async () => {
    let other: unknown;
    const run = async () => {
      other = await sweepAll();
    };
    atCommit(database, isDueTime, run);
    expect(await sweepAll()).toEqual(LEFT);
    expect(other).toEqual(LEFT);
    expect(await sweepAll()).toEqual([]);
  });

  test('once, even if the reply to the commit after the report is lost', async () => {
    failCommits(database, isDueTime, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    expect(await sweepAll()).toEqual(LEFT);
    expect(await sweepAll()).toEqual([]);
  });

  test('as left, not as deferred, even if the time of the sweep ends between the report and the commit', async () => {
    const time = new AbortController();
    const onResult = () => time.abort(new Error('the time for the sweep is up'));
    expect(await sweepAll({ signal: time.signal, onResult })).toEqual(LEFT);
  });

  test('again, if the commit after the report fails', async () => {
    failCommits(database, isDueTime, { times: 1 });
    expect(await sweepAll()).toEqual(LEFT);
    expect(await sweepAll()).toEqual(LEFT);
    expect(await sweepAll()).toEqual([]);
  });

  test('again, if a sweep cannot write the report; that sweep begins no other work and ends with the error', async () => {
    await fail('b', STOPPED);
    const error = new Error('the output is closed');
    await expect(runSweep({ onResult: () => Promise.reject(error) })).rejects.toBe(error);
    expect(await readKey('b')).toMatchObject({ status: 'requires_review' });
    expect(await sweepAll()).toEqual([...LEFT, 'b resumed']);
  });

  test('and keeps its due time if another event was applied to it after the report', async () => {
    const leaseEnd = TEST_START + LEASE_DURATION_MS;
    const resumed = { status: 'processing', owner: 'another', lease_expires_at: leaseEnd, sweep_due_at: leaseEnd };
    atCommit(database, isDueTime, () => getKey('a').update(resumed));
    expect(await sweepAll()).toEqual(LEFT);
    expect(await readKey('a')).toMatchObject(resumed);
  });

  test('unless an operator has just resumed it, and then keeps its due time', async () => {
    const leaseEnd = TEST_START + LEASE_DURATION_MS;
    const resumed = { status: 'processing', owner: 'another', lease_expires_at: leaseEnd, sweep_due_at: leaseEnd };
    // The first read belongs to the sweep's own resume, and the second precedes the report.
    const run = () => getKey('a').update({ ...resumed, failed_tries: 0 });
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 2, action: { kind: 'call', run } });
    expect(await sweepAll()).toEqual([]);
    expect(await readKey('a')).toMatchObject(resumed);
  });

  test('only if it still needs an operator when the sweep reads it for the report, and otherwise stays due', async () => {
    const run = () => updateKey(getKey('a'), { status: 'requires_review', owner: '', ...STOPPED, failed_tries: 0 });
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 2, action: { kind: 'call', run } });
    expect(await sweepAll()).toEqual([]);
    expect(await sweepAll()).toEqual(['a resumed']);
  });
});
