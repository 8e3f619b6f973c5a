import { FieldValue } from 'firebase-admin/firestore';
import type { Call } from '../../../../packages/firestore-local/src';
import { systemClock, type Clock } from '../../../src/lib/clock';
import { StoppedError } from '../../../src/lib/errors';
import type { WorkContext } from '../../../src/lib/work-context';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { CALL_TIMEOUTS_MS, LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { sweep, type SweepOptions, type SweepResult } from '../../../src/price-lists/sweep';
import { atCommit, failCommits, getNames, isEntries, isKeyEvent } from '../../support/commits';
import { TEST_START } from '../../support/database';
import { CRASHED, STOPPED, useFailedAttempts } from '../../support/failed-attempts';
import { TEST_LISTS } from '../../support/key-records';
import { updateKey, writeMarket } from '../../support/price-lists';
import { writeRecords } from '../../support/stored';
import { waitFor } from '../../support/wait-for';

const { database, create, getKey, readKey, fail, deletePayload, getPriceList, runResume } = useFailedAttempts();

const failPayloadReads = (code: 'UNAVAILABLE' | 'PERMISSION_DENIED', times = 1_000) =>
  database.firestore.faults.inject({
    rpc: 'RunQuery',
    match: ({ request }) => JSON.stringify(request, toPlain).includes('payload'),
    times,
    action: { kind: 'error', code },
  });

/** Converts the Maps and big integers of a request for `JSON.stringify`. */
const toPlain = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : typeof value === 'bigint' ? String(value) : value;

const OPTIONS: SweepOptions = {
  concurrency: 2,
  dryRun: false,
};

const NOTHING_DONE = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };

function startSweep(options: Partial<SweepOptions> = {}, changed: Partial<WorkContext> = {}) {
  const { db, context } = database.open(changed);
  const results: [key: string, result: string, reason: string | null, sinceClaimMs: number][] = [];
  const unreadable: string[] = [];
  const reporter = {
    onResult: ({ time, boq_list_id, result, reason }: SweepResult, { claimed_at }: KeyRecord) =>
      void results.push([boq_list_id, result, reason, time - claimed_at]),
    onUnreadable: (path: string) => void unreadable.push(path),
  };
  const count = (result: string) => results.filter((each) => each[1] === result).length;
  const countResults = () => Object.fromEntries(Object.keys(NOTHING_DONE).map((result) => [result, count(result)]));
  const summary = sweep(db, context, { ...OPTIONS, ...options }, reporter).then(
    countResults,
    (error: unknown) => error,
  );
  return { summary, results, unreadable };
}

async function runSweep(...args: Parameters<typeof startSweep>) {
  const { summary, results, ...others } = startSweep(...args);
  return { ...others, summary: await summary, results: results.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/**
 * Creates a clock for a sweep while a test holds one of its commits. The sweep asks again every 50 ms. Its other timeouts are long,
 * because the retry of a call that times out on a busy machine would advance the clock.
 */
function createHoldingClock(): Clock {
  jest.replaceProperty(CALL_TIMEOUTS_MS, 'commit', 600_000);
  return {
    elapsedMs: () => database.clock.elapsedMs(),
    sleep: (...args) => database.clock.sleep(...args),
    createTimeout: (_, createReason, ...parents) => {
      const ms = createReason().message === 'time to ask again' ? 50 : 600_000;
      return systemClock.createTimeout(ms, createReason, ...parents);
    },
  };
}

describe('a sweep', () => {
  test('resumes what crashed or was stopped, and leaves other attempts to an operator with the reason', async () => {
    await fail('crashed', CRASHED);
    await fail('exhausted', { ...CRASHED, automatic_resumes: 3 });
    const incomplete = await fail('incomplete', STOPPED);
    await deletePayload(incomplete);
    const live = await fail('live', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    const rejected = await fail('rejected');
    await fail('stopped', { ...STOPPED, automatic_resumes: 2, updated_at: TEST_START - 5 * 60_000 });
    await create('completed');
    database.clock.advance(1_000);

    const before = database.recordCalls();
    const dry = await runSweep({ dryRun: true });
    expect(dry.summary).toEqual({ resumed: 0, would_resume: 3, left: 2, deferred: 0 });
    expect(dry.results.map(([key, result]) => [key, result])).toEqual([
      ['crashed', 'would_resume'],
      ['exhausted', 'left'],
      ['incomplete', 'would_resume'],
      ['rejected', 'left'],
      ['stopped', 'would_resume'],
    ]);
    expect(before.map(({ rpc }) => rpc)).not.toContain('Commit');

    const { summary, results } = await runSweep();
    expect(summary).toEqual({ resumed: 2, would_resume: 0, left: 3, deferred: 0 });
    const chunks = '0 chunks are stored instead of 1';
    const unusable = `the stored payload cannot be used, so the attempt can only be released: ${chunks}`;
    expect(results).toEqual([
      ['crashed', 'resumed', null, 1_000],
      ['exhausted', 'left', 'it was resumed 3 times without an operator, and failed again', 1_000],
      ['incomplete', 'left', `the failure is not transient: ${unusable}`, 1_000],
      ['rejected', 'left', `the failure is not transient: ${rejected.failure}`, 1_000],
      ['stopped', 'resumed', null, 1_000],
    ]);
    expect(await readKey('crashed')).toMatchObject({
      status: 'completed',
      automatic_resumes: 1,
      actions: [{ action: 'resume', by: 'sweep', reason: 'lease expired before the attempt completed' }],
    });
    expect(await readKey('stopped')).toMatchObject({ automatic_resumes: 3, actions: [{ reason: STOPPED.failure }] });
    expect(await readKey('incomplete')).toMatchObject({
      status: 'requires_review',
      failure: unusable,
      failure_cause: 'error',
      automatic_resumes: 1,
    });
    expect(await readKey('exhausted')).toMatchObject({ status: 'requires_review', failure_cause: 'lease_expired' });
    expect(await readKey('rejected')).toEqual({ ...rejected, sweep_due_at: undefined });
    expect(await readKey('live')).toEqual(live);
  });

  test('runs at most as many resumes at a time as its concurrency allows', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await fail(key, STOPPED);
    let most = 0;
    const count = async () => {
      const running = await database.client.collectionGroup('price_list_idempotency').get();
      most = Math.max(most, running.docs.filter((key) => key.get('status') === 'processing').length);
    };
    atCommit(database, isEntries, count, { times: 1_000 });
    expect((await runSweep({ concurrency: 2 })).summary).toMatchObject({ resumed: 4 });
    expect(most).toBe(2);
  });

  test('reports once that a key needs an operator, despite a short outage, and the next sweep does not read its record', async () => {
    await fail('a', { ...CRASHED, automatic_resumes: 3 });
    await fail('b');
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', times: 4, action });
    const { results } = await runSweep();
    expect(results.map(([key, result]) => [key, result])).toEqual([
      ['a', 'left'],
      ['b', 'left'],
    ]);
    const calls = database.recordCalls();
    expect((await runSweep()).results).toEqual([]);
    expect([...new Set(calls.map(({ rpc }) => rpc))]).toEqual(['RunQuery']);
  });

  test('skips a record that is found although it is not due', async () => {
    const live = await fail('live', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    await getKey('live').update({ sweep_due_at: 1 });
    const calls = database.recordCalls();
    expect((await runSweep()).summary).toEqual(NOTHING_DONE);
    expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(new Set(['RunQuery']));
    expect(await readKey('live')).toEqual({ ...live, sweep_due_at: 1 });
  });

  test('reads records that do not parse once, however many of them are due', async () => {
    const dueAt = (i: number) => TEST_START - 3_600_000 + (i % 2);
    const records = Array.from({ length: 350 }, (_, i) => [`key-${i}`, { sweep_due_at: dueAt(i) }] as const);
    await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries(records));
    const calls = database.recordCalls();
    const { unreadable } = await runSweep();
    expect(new Set(unreadable)).toEqual(new Set(records.map(([id]) => `price_list_idempotency/${id}`)));
    expect(unreadable).toHaveLength(350);
    const pages = calls.flatMap((call) => ('query' in call.request ? [call.request.query.limit] : []));
    expect(pages).toEqual([100, 100, 100, 100, 100]);
  });

  test.each<[string, Partial<KeyRecord>, string]>([
    ['document_id is a path', { document_id: 'a/b' }, 'its document_id is not the id of a document'],
    ['list id is empty', { lists: { ...TEST_LISTS, expected_forward_cost_id: '' } }, 'must be a non-empty string'],
    ['boq_list_id belongs to another key', { boq_list_id: 'another' }, 'it is stored under the hash of another key'],
  ])('leaves a record whose %s to an operator, failed or crashed', async (_, update, failure) => {
    for (const state of [STOPPED, CRASHED]) {
      database.reset();
      await writeMarket(database.client);
      await fail('a', { ...state, ...update });
      expect((await runSweep()).results.map(([, result]) => result)).toEqual(['left']);
      const reason = expect.stringContaining(failure) as string;
      expect(await readKey('a')).toMatchObject({ status: 'requires_review', failure: reason, failure_cause: 'error' });
      expect((await runSweep()).results).toEqual([]);
    }
  });

  test('changes no list of a copied record, because another key can own it', async () => {
    const record = await fail('a', CRASHED);
    const list = getPriceList(record);
    await list.update({ status: 'ready' });
    await getKey('copy').set((await getKey('a').get()).data() ?? {});
    await getKey('a').delete();
    expect((await runSweep()).results.map(([, result]) => result)).toEqual(['left']);
    expect((await list.get()).get('status')).toBe('ready');
  });

  test('counts a resume that cannot read its payload: it defers a transient error and leaves a permanent one', async () => {
    await fail('a', STOPPED);
    const fault = failPayloadReads('UNAVAILABLE');
    expect((await runSweep()).results).toMatchObject([
      ['a', 'deferred', expect.stringContaining('UNAVAILABLE'), expect.any(Number)],
    ]);
    expect(await readKey('a')).toMatchObject({ status: 'requires_review', automatic_resumes: 1 });
    fault.remove();
    failPayloadReads('PERMISSION_DENIED');
    database.clock.advance(60_000);
    expect((await runSweep()).results).toMatchObject([
      ['a', 'left', expect.stringContaining('PERMISSION_DENIED'), expect.any(Number)],
    ]);
    expect(await readKey('a')).toMatchObject({ automatic_resumes: 2, failure_cause: 'error' });
  });

  test('gives up a resume after a minute of errors, so that other keys are resumed', async () => {
    await fail('a', STOPPED);
    failCommits(database, isEntries, { code: 'UNAVAILABLE', times: Infinity });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    expect(database.clock.now() - TEST_START).toBeLessThan(65_000);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'unavailable', automatic_resumes: 1 });
  });

  test('retries its calls in an outage, and resumes the key (dbos-transact-py #716)', async () => {
    await fail('a', CRASHED);
    failPayloadReads('UNAVAILABLE', 6);
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'Commit'] as const)
      database.firestore.faults.inject({ rpc, times: 6, action: { kind: 'error', code: 'UNAVAILABLE' } });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
  });

  test('ends a hanging query for entries at the timeout of a query, and resumes the key', async () => {
    await fail('a', STOPPED);
    jest.replaceProperty(CALL_TIMEOUTS_MS, 'query', CALL_TIMEOUTS_MS.query / 100);
    const fault = database.firestore.faults.inject({ rpc: 'RunQuery', nth: 3, action: { kind: 'hang' } });
    const startedAt = performance.now();
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    expect(fault.count).toBe(1);
    // The query without its shortened timeout would take 45 s.
    expect(performance.now() - startedAt).toBeLessThan(40_000);
  });

  test('that is busy finds a key whose due time is a minute old, because a commit can take effect so late', async () => {
    await fail('a', STOPPED);
    const late = await fail('b');
    database.clock.advance(60_000);
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const { fired } = atCommit(database, isEntries, () => promise);
    await getKey('b').update({ sweep_due_at: FieldValue.delete() });
    const { summary, results } = startSweep({}, { clock: createHoldingClock() });
    await fired;
    await updateKey(getKey('b'), { ...STOPPED, updated_at: late.updated_at });
    await waitFor(() => results.length === 1);
    letGo(undefined);
    await summary;
    expect(results.map(([key, result]) => [key, result]).sort()).toEqual([
      ['a', 'resumed'],
      ['b', 'resumed'],
    ]);
  });

  test('that is busy with one list resumes another list again each time that it is due', async () => {
    await fail('a', STOPPED);
    await fail('b', { ...STOPPED, updated_at: TEST_START + 1 });
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const isOf = (key: string) => (call: Call<'Commit'>) =>
      isEntries(call) && getNames(call).some((n) => n.includes(key));
    const lists = await Promise.all(['a', 'b'].map(async (key) => (await readKey(key)).lists?.price_list_id ?? ''));
    const { fired } = atCommit(database, isOf(lists[0] ?? ''), () => promise);
    failCommits(database, isOf(lists[1] ?? ''), { code: 'UNAVAILABLE', times: Infinity });
    const { summary, results } = startSweep({}, { clock: createHoldingClock() });
    await fired;
    database.clock.advance(1);
    await waitFor(() => results.length === 1);
    database.clock.advance(60_000);
    await waitFor(() => results.length === 2);
    letGo(undefined);
    await summary;
    expect(results.map(([key, result]) => [key, result]).slice(0, 2)).toEqual([
      ['b', 'deferred'],
      ['b', 'deferred'],
    ]);
    expect(await readKey('b')).toMatchObject({ automatic_resumes: 2 });
  });

  test('that is stopped starts nothing more, and returns what it did', async () => {
    await fail('a', STOPPED);
    await fail('b', STOPPED);
    const stop = new AbortController();
    atCommit(database, isEntries, () => stop.abort(new StoppedError('this instance stops')));
    const { summary, results } = await runSweep({ concurrency: 1 }, { signal: stop.signal });
    expect(summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    expect(results.map(([, , reason]) => reason)).toEqual(['this instance stops']);
    const failures = await Promise.all(['a', 'b'].map(async (key) => (await readKey(key)).failure));
    expect(failures.sort()).toEqual([STOPPED.failure, STOPPED.failure]);
  });

  test('that is stopped when it takes over undoes the resume at once, and does not count it', async () => {
    await fail('a', STOPPED);
    const stop = new AbortController();
    const action = { kind: 'call', run: () => stop.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isKeyEvent, when: 'after', action });
    await runSweep({}, { signal: stop.signal });
    const beforeResume = { status: 'requires_review', failure_cause: 'stopped', automatic_resumes: 0, actions: [] };
    expect(await readKey('a')).toMatchObject(beforeResume);
  });

  test('that is stopped while it reads the keys returns what it did', async () => {
    const stop = new AbortController();
    const action = { kind: 'call', run: () => stop.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'RunQuery', action });
    expect((await runSweep({}, { signal: stop.signal })).summary).toEqual(NOTHING_DONE);
  });

  test('starts no resume after it was told to stop', async () => {
    await fail('a', STOPPED);
    expect((await runSweep({ stopping: AbortSignal.abort() })).results).toEqual([]);
  });
});

describe('a key that needs an operator is reported', () => {
  beforeEach(() => fail('a', { ...CRASHED, automatic_resumes: 3 }));

  const LEFT = [['a', 'left', 'it was resumed 3 times without an operator, and failed again', expect.any(Number)]];

  /** Matches the commits with a write that changes only the time at which a key is due. */
  const isDueTime = ({ request: { writes } }: Call<'Commit'>) =>
    writes.some((write) => write.kind === 'update' && write.mask?.join() === 'sweep_due_at');

  test('by both of two sweeps that overlap between report and commit', async () => {
    let other: unknown;
    const run = async () => {
      other = (await runSweep()).results;
    };
    atCommit(database, isDueTime, run);
    expect((await runSweep()).results).toEqual(LEFT);
    expect(other).toEqual(LEFT);
    expect((await runSweep()).results).toEqual([]);
  });

  test('once, though the reply to the commit after the report is lost', async () => {
    failCommits(database, isDueTime, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    expect((await runSweep()).results).toEqual(LEFT);
    expect((await runSweep()).results).toEqual([]);
  });

  test('once, and not as deferred, though the time of the sweep ends between report and commit', async () => {
    const time = new AbortController();
    const { db, context } = database.open({ signal: time.signal });
    const results: string[] = [];
    const reporter = {
      onResult: ({ result }: SweepResult) => {
        results.push(result);
        time.abort(new Error('the time for the sweep is up'));
      },
      onUnreadable: () => undefined,
    };
    await sweep(db, context, OPTIONS, reporter);
    expect(results).toEqual(['left']);
    expect((await runSweep()).results).toEqual([]);
  });

  test('again, if the commit after the report fails', async () => {
    failCommits(database, isDueTime, { times: 1 });
    expect((await runSweep()).results).toEqual(LEFT);
    expect((await runSweep()).results).toEqual(LEFT);
    expect((await runSweep()).results).toEqual([]);
  });

  test('and stays due if another event was applied to it after the report', async () => {
    const leaseEnd = TEST_START + LEASE_DURATION_MS;
    const resumed = { status: 'processing', owner: 'another', lease_expires_at: leaseEnd, sweep_due_at: leaseEnd };
    const run = async () => {
      await getKey('a').update(resumed);
    };
    atCommit(database, isDueTime, run);
    expect((await runSweep()).results).toEqual(LEFT);
    expect(await readKey('a')).toMatchObject(resumed);
  });

  test('again after a resume that failed', async () => {
    expect((await runSweep()).results).toEqual(LEFT);
    const fault = failCommits(database, isEntries);
    expect((await runResume(await readKey('a'))).outcome).toMatchObject({ code: 7 });
    fault.remove();
    expect((await runSweep()).results.map(([, result]) => result)).toEqual(['left']);
  });
});
