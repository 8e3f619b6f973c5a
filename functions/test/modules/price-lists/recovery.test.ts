import { FieldValue } from 'firebase-admin/firestore';
import type { Call } from '../../../../packages/firestore-local/src';
import { systemClock, type Clock } from '../../../src/lib/clock';
import { StoppedError } from '../../../src/lib/errors';
import { keyDocumentId } from '../../../src/lib/repositories/price-lists';
import type { RequestContext } from '../../../src/lib/request-context';
import { CALL_TIMEOUTS_MS, LEASE_DURATION_MS, SWEEP_ASK_INTERVAL_MS } from '../../../src/lib/time-limits';
import type { ClaimedLists, KeyRecord, Progress } from '../../../src/lib/schemas/key-record';
import { createPriceLists } from '../../../src/price-lists/create';
import { findPendingEntries, getAllEntries } from '../../../src/price-lists/entries';
import { KeyStore } from '../../../src/price-lists/key-store';
import { LeaseLostError, RunningAttempt } from '../../../src/price-lists/running-attempt';
import { release, ResolutionError, resume } from '../../../src/price-lists/resume';
import type { ProductColumns } from '../../../src/price-lists/submission-parser';
import { sweep, type SweepOptions, type SweepResult } from '../../../src/price-lists/sweep';
import { TEST_BATCH, useTestBatches } from '../../resilience/calls';
import { checkInvariants } from '../../resilience/invariants';
import { TEST_START, useTestDatabase } from '../../support/database';
import { createKeyRecord, TEST_CREATION } from '../../support/key-records';
import { NO_LOG, readListEntries, writeMarket, updateKey } from '../../support/price-lists';
import { writeRecords } from '../../support/stored';
import { createPriceListBody, parseSubmission } from '../../support/submissions';
import { waitFor } from '../../support/wait-for';
import { atCommit, failCommits, getNames, isEntries, isKeyEvent } from './commits';

/** Resume, release and sweep over a database, without HTTP and without the command. */

const database = useTestDatabase();
beforeAll(useTestBatches);
beforeEach(async () => {
  database.reset();
  await writeMarket(database.client);
});

const PRODUCTS = 2 * TEST_BATCH + 1;
const createBody = (key: string) => createPriceListBody(PRODUCTS, { boq_list_id: key });

function create(key: string) {
  const { db, context } = database.open();
  const request = { requestId: 'request-1', apiKeyId: 'api-key-1', log: NO_LOG };
  return createPriceLists(parseSubmission(createBody(key)), request, db, context);
}

const getKey = (key: string) => database.client.collection('price_list_idempotency').doc(keyDocumentId(key));
const readKey = async (key: string) => (await getKey(key).get()).data() as KeyRecord;

/** Fails an attempt permanently at its third commit of entries, then updates its key record. */
async function fail(key: string, update: Partial<KeyRecord> = {}): Promise<KeyRecord> {
  const fault = failCommits(database, isEntries, { nth: 3 });
  await expect(create(key)).rejects.toMatchObject({ code: 'creation_failed' });
  fault.remove();
  await updateKey(getKey(key), update);
  return readKey(key);
}

/** The fields of a key whose process was killed. */
const CRASHED = {
  status: 'processing',
  owner: 'crashed',
  failure: null,
  failure_cause: null,
  lease_expires_at: TEST_START,
} as const;

const STOPPED = { failure: 'the instance stops', failure_cause: 'stopped' } as const;

const check = (...keys: string[]) => checkInvariants(database.client, keys.map(createBody).map(parseSubmission));

const deletePayload = ({ document_id }: KeyRecord) =>
  database.client.doc(`price_list_requests/${document_id}/price_list_payload/0000`).delete();

const getPriceList = ({ creation }: KeyRecord) => database.client.doc(`price_lists/${creation?.price_list_id}`);

/** Fails the queries for payloads. */
const failPayloadReads = (code: 'UNAVAILABLE' | 'PERMISSION_DENIED', times = 1_000) =>
  database.firestore.faults.inject({
    rpc: 'RunQuery',
    match: ({ request }) => JSON.stringify(request, toPlain).includes('payload'),
    times,
    action: { kind: 'error', code },
  });

/** Requests contain Maps and big integers. */
const toPlain = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : typeof value === 'bigint' ? String(value) : value;

async function runResume(record: KeyRecord, changed: Partial<RequestContext> = {}) {
  const { db, context } = database.open(changed);
  const progress: Progress[] = [];
  const onProgress = (written: Progress) => progress.push({ ...written });
  const decision = { by: 'operator', reason: 'checked' };
  const outcome: unknown = await resume(record, decision, db, context, onProgress).catch((error: unknown) => error);
  return { outcome, progress };
}

async function runRelease(record: KeyRecord): Promise<unknown> {
  const { db, context } = database.open();
  return release(record, { by: 'operator', reason: null }, db, context).catch((error: unknown) => error);
}

describe('a resume', () => {
  test('writes what is missing or differs, completes the key and returns its response', async () => {
    const record = await fail('a');
    const { expected_forward_cost_id, price_list_id } = record.creation ?? {};
    const costs = `expected_forward_costs/${expected_forward_cost_id}`;
    const [stored = ''] = Object.keys(await readListEntries(database.client, costs));
    await database.client.doc(`${costs}/products/${stored}`).set({ expected_forward_cost_price: 17 });
    const before =
      Object.keys(await readListEntries(database.client, costs)).length +
      Object.keys(await readListEntries(database.client, `price_lists/${price_list_id}`)).length;
    database.clock.advance(5_000);

    const { outcome, progress } = await runResume(record);
    const resumed = await readKey('a');
    expect(outcome).toBe(resumed.response);
    expect(resumed).toMatchObject({
      status: 'completed',
      owner: 'owner-2',
      automatic_resumes: 0,
      updated_at: TEST_START + 5_000,
      actions: [{ action: 'resume', at: TEST_START + 5_000, by: 'operator', reason: 'checked' }],
    });
    // The resume leaves out what the first attempt wrote, except for the entry that differed.
    const pending = 2 * PRODUCTS - before + 1;
    expect(progress[0]).toMatchObject({ entries_written: 0, entries_total: pending });
    expect(progress.at(-1)).toMatchObject({ entries_written: pending });
    await check('a');
    expect(await create('a')).toMatchObject({ response: resumed.response, replayed: true });
  });

  test('of a crashed attempt creates its lists again if somebody has deleted them', async () => {
    const record = await fail('a', CRASHED);
    const { expected_forward_cost_id, price_list_id } = record.creation ?? {};
    for (const path of [`expected_forward_costs/${expected_forward_cost_id}`, `price_lists/${price_list_id}`])
      await database.client.recursiveDelete(database.client.doc(path));
    await runResume(record);
    await check('a');
  });

  test('of a crashed attempt fails its lists as it takes over, at that time', async () => {
    const record = await fail('a', CRASHED);
    const list = getPriceList(record);
    await list.update({ status: 'processing' });
    database.clock.advance(5_000);
    let meanwhile: unknown;
    atCommit(database, isEntries, async () => {
      meanwhile = (await list.get()).data();
      database.clock.advance(1_000);
    });
    await runResume(record);
    expect(meanwhile).toMatchObject({ status: 'failed', updated_at: TEST_START + 5_000 });
    expect((await list.get()).data()).toMatchObject({ status: 'ready', updated_at: TEST_START + 6_000 });
  });

  test('that cannot take over throws the error', async () => {
    const record = await fail('a');
    failCommits(database, isKeyEvent, { times: 1 });
    expect((await runResume(record)).outcome).toMatchObject({ code: 7 });
    expect(await readKey('a')).toEqual(record);
  });

  test('without a stored payload changes nothing', async () => {
    const record = await fail('a');
    await deletePayload(record);
    const { outcome } = await runResume(record);
    expect(outcome).toBeInstanceOf(ResolutionError);
    expect(outcome).toMatchObject({
      name: 'ResolutionError',
      code: 'payload_unusable',
      detail: '0 chunks are stored in place of 1',
      message:
        'the stored payload cannot be used, so the attempt can only be released: 0 chunks are stored in place of 1',
    });
    expect(await readKey('a')).toEqual(record);
  });

  test('whose payload has a chunk without data changes nothing, and says that the payload is damaged', async () => {
    const record = await fail('a');
    await database.client.doc(`price_list_requests/${record.document_id}/price_list_payload/0000`).set({});
    expect((await runResume(record)).outcome).toMatchObject({ detail: 'it is damaged: unexpected end of file' });
    expect(await readKey('a')).toEqual(record);
  });

  test('that is stopped as it takes over gives the attempt back', async () => {
    await fail('a', STOPPED);
    const stop = new AbortController();
    const action = { kind: 'call', run: () => stop.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isKeyEvent, when: 'after', action });
    await runSweep({}, { signal: stop.signal });
    const givenBack = { status: 'requires_review', failure_cause: 'stopped', automatic_resumes: 0, actions: [] };
    expect(await readKey('a')).toMatchObject(givenBack);
  });

  test('of a completed attempt returns the stored response', async () => {
    const record = await fail('a');
    const { outcome } = await runResume(record);
    expect((await runResume(record)).outcome).toBe(outcome);
  });

  test('of an attempt that was released meanwhile is rejected', async () => {
    const record = await fail('a');
    const run = async () => {
      database.clock.advance(2 * LEASE_DURATION_MS);
      expect(await runRelease(record)).toBeUndefined();
    };
    atCommit(database, isKeyEvent, run, { nth: 2 });
    expect((await runResume(record)).outcome).toMatchObject({ code: 'key_released', detail: undefined });
    expect(await readKey('a')).toMatchObject({ status: 'released' });
  });
});

describe('the search for entries that are not stored', () => {
  /** Stores entries of the price list, with any value as price. */
  const store = (entries: readonly (readonly [id: string, price: unknown])[]) =>
    writeRecords(
      database.client,
      'price_lists/price-list/products',
      Object.fromEntries(entries.map(([id, price]) => [id, { price_list_price: price }])),
    );

  const createProducts = (ids: readonly string[]): ProductColumns => ({
    ids: [...ids].sort(),
    expectedForwardCostPrices: new Float64Array(ids.length).fill(2),
    priceListPrices: new Float64Array(ids.length).fill(1.5),
  });

  const createAttempt = (creation: ClaimedLists | null) => {
    const { db, context } = database.open();
    const keys = new KeyStore(getKey('boq-1'), db, context);
    const held = {
      kind: 'owned',
      record: createKeyRecord({ creation }),
      heldUntil: context.clock.elapsedMs(),
    } as const;
    return new RunningAttempt({ ...held, heldUntil: held.heldUntil + LEASE_DURATION_MS }, keys, 'outage');
  };

  /** Returns the ids of the entries of the price list that are still to be written. */
  async function findMissing(ids: readonly string[]): Promise<string[]> {
    const products = createProducts(ids);
    const { price_list } = await findPendingEntries(products, createAttempt(TEST_CREATION));
    return Array.from(price_list, (place) => products.ids[place] ?? '').sort();
  }

  test('finds entries that are missing, or have another price or none, in the order of writing', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `product-${i}`);
    const isPending = (i: number) => i % 3 === 0;
    await store(ids.map((id, i) => [id, isPending(i) ? (i % 2 === 0 ? 1 : '1.5') : 1.5] as const).slice(0, 37));
    const products = createProducts(ids);
    const found = await findPendingEntries(products, createAttempt(TEST_CREATION));
    const all = getAllEntries(products);
    expect(found.expected_forward_cost).toEqual(all.expected_forward_cost);
    const pending = new Set(ids.filter((_, i) => isPending(i) || i >= 37));
    expect(found.price_list).toEqual(all.price_list.filter((place) => pending.has(products.ids[place] ?? '')));
  });

  test('finds ids in any order of Firestore, between others that the payload does not have', async () => {
    // UTF-8 has U+FFFD before U+10000, UTF-16 after it.
    const ids = ['a', 'b', '\ufffd', '\u{10000}', '\ue000x', '\u{1f600}', 'é', 'zz'];
    await store([...ids.slice(1), 'a0', 'c', '\u{10001}', '0', 'zzz'].map((id) => [id, 1.5]));
    expect(await findMissing(ids)).toEqual(['a']);
  });

  test('reads one list after the other, so nothing continues when one of them fails', async () => {
    const calls = database.recordCalls();
    database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
    await expect(findMissing(['a'])).rejects.toMatchObject({ code: 7 });
    expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery']);
  });

  test('renews the lease after a thousand entries, despite a short outage, and ends without the lease', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `product-${i}`);
    await store(ids.map((id) => [id, 1.5]));
    const attempt = createAttempt(TEST_CREATION);
    await getKey('boq-1').set(attempt.record);
    database.clock.advance(LEASE_DURATION_MS);
    database.firestore.faults.inject({ rpc: 'Commit', times: 3, action: { kind: 'error', code: 'UNAVAILABLE' } });
    const products = createProducts(ids);
    expect((await findPendingEntries(products, attempt)).price_list).toHaveLength(0);
    expect((await readKey('boq-1')).lease_expires_at).toBe(database.clock.now() + LEASE_DURATION_MS);
    database.clock.advance(LEASE_DURATION_MS);
    await getKey('boq-1').update({ owner: 'another' });
    await expect(findPendingEntries(products, attempt)).rejects.toThrow(LeaseLostError);
  });

  test('makes no call for an attempt without lists', async () => {
    const products = createProducts(['a', 'b']);
    expect(await findPendingEntries(products, createAttempt(null))).toEqual(getAllEntries(products));
  });
});

describe('a release', () => {
  test('frees the key for another attempt, although its reply is lost, and may be repeated', async () => {
    const record = await fail('a');
    database.clock.advance(1_000);
    failCommits(database, isKeyEvent, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    expect(await runRelease(record)).toBeUndefined();
    const list = await getPriceList(record).get();
    expect([list.get('status'), list.get('updated_at')]).toEqual(['failed', TEST_START]);
    const action = { action: 'release', at: TEST_START + 1_000, by: 'operator', reason: null };
    expect(await readKey('a')).toEqual({
      ...record,
      status: 'released',
      updated_at: TEST_START + 1_000,
      actions: [action],
      sweep_due_at: undefined,
    });
    expect(await runRelease(record)).toBeUndefined();
    expect((await readKey('a')).actions).toHaveLength(1);
    expect(await create('a')).toMatchObject({ replayed: false });
    const { document_id, history } = await readKey('a');
    expect(document_id).not.toBe(record.document_id);
    expect(history).toMatchObject([{ document_id: record.document_id, settled_at: TEST_START + 1_000 }]);
    await check('a');
  });

  test('frees a key that completed without lists, and a late retry of its request is a new request', async () => {
    const createNowhere = (market_id: string) => {
      const { db, context } = database.open();
      const submission = parseSubmission(createPriceListBody(1, { boq_list_id: 'a', market_id }));
      return createPriceLists(submission, { requestId: 'request-1', apiKeyId: 'api-key-1', log: NO_LOG }, db, context);
    };
    const { response } = await createNowhere('nowhere');
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    expect(await createNowhere('nowhere')).toMatchObject({ replayed: false });
    expect((await readKey('a')).history).toMatchObject([{ response, creation: null }]);
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    expect(await createNowhere('market-1')).toMatchObject({ replayed: false, facts: { market_found: true } });
    const bodies = ['nowhere', 'market-1'].map((market_id) => createPriceListBody(1, { boq_list_id: 'a', market_id }));
    await checkInvariants(database.client, bodies.map(parseSubmission));
  });

  test('of a crashed attempt fails its lists', async () => {
    const record = await fail('a', CRASHED);
    await getPriceList(record).update({ status: 'processing' });
    await runRelease(record);
    expect(await readKey('a')).toMatchObject({ status: 'released', failure_cause: 'lease_expired' });
    await check('a');
  });

  test.each<[string, Partial<KeyRecord>, string]>([
    ['that completed with lists', { status: 'completed', response: '{}' }, 'lists_ready'],
    ['that is in progress', { ...CRASHED, lease_expires_at: TEST_START + 1 }, 'key_in_progress'],
  ])('of an attempt %s is rejected', async (_, update, code) => {
    const record = await fail('a');
    await getKey('a').update(update);
    expect(await runRelease(record)).toMatchObject({ code });
    expect(await readKey('a')).toEqual({ ...record, ...update });
  });
});

const OPTIONS: SweepOptions = {
  concurrency: 2,
  dryRun: false,
};

const NOTHING_DONE = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };

function startSweep(options: Partial<SweepOptions> = {}, changed: Partial<RequestContext> = {}) {
  const { db, context } = database.open(changed);
  const results: [key: string, result: string, reason: string | null, sinceClaimMs: number][] = [];
  const unreadable: string[] = [];
  const reporter = {
    onResult: ({ time, boq_list_id, result, reason }: SweepResult, { claimed_at }: KeyRecord) =>
      void results.push([boq_list_id, result, reason, time - claimed_at]),
    onUnreadable: (path: string) => void unreadable.push(path),
  };
  const summary = sweep(db, context, { ...OPTIONS, ...options }, reporter).catch((error: unknown) => error);
  return { summary, results, unreadable };
}

async function runSweep(...args: Parameters<typeof startSweep>) {
  const { summary, results, ...others } = startSweep(...args);
  return { ...others, summary: await summary, results: results.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

describe('a sweep', () => {
  test('resumes what crashed or was stopped, and leaves the rest to an operator with the reason', async () => {
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
    const chunks = '0 chunks are stored in place of 1';
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

  test('reports once that a key needs an operator, despite a short outage, and then reads nothing of it', async () => {
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
    ['document_id is a path', { document_id: 'a/b' }, 'must point to a document'],
    [
      'list id is empty',
      { creation: { ...TEST_CREATION, expected_forward_cost_id: '' } },
      'must be a non-empty string',
    ],
    ['boq_list_id belongs to another key', { boq_list_id: 'another' }, 'its boq_list_id is that of another record'],
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

  test('changes no list of a copied record, because another key may own it', async () => {
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

  test('is delayed at most a minute by a query for entries that hangs, here in a hundredth of its timeout', async () => {
    await fail('a', STOPPED);
    const timeout = jest.replaceProperty(CALL_TIMEOUTS_MS, 'query', CALL_TIMEOUTS_MS.query / 100);
    const fault = database.firestore.faults.inject({ rpc: 'RunQuery', nth: 3, action: { kind: 'hang' } });
    const startedAt = performance.now();
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    expect(fault.count).toBe(1);
    // The query without its shortened timeout would take 45 s.
    expect(performance.now() - startedAt).toBeLessThan(40_000);
    timeout.restore();
  });

  test('that is busy finds a key whose due time is a minute old, because its commit may land so late', async () => {
    await fail('a', STOPPED);
    const late = await fail('b');
    database.clock.advance(60_000);
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const { fired } = atCommit(database, isEntries, () => promise);
    const createTimeout: Clock['createTimeout'] = (ms, ...rest) =>
      systemClock.createTimeout(ms === SWEEP_ASK_INTERVAL_MS ? 50 : ms, ...rest);
    const { clock } = database;
    await getKey('b').update({ sweep_due_at: FieldValue.delete() });
    const { summary, results } = startSweep(
      {},
      { clock: { elapsedMs: () => clock.elapsedMs(), sleep: (...args) => clock.sleep(...args), createTimeout } },
    );
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

  test('that is busy with one list resumes another again each time that it is due', async () => {
    await fail('a', STOPPED);
    await fail('b', { ...STOPPED, updated_at: TEST_START + 1 });
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const isOf = (key: string) => (call: Call<'Commit'>) =>
      isEntries(call) && getNames(call).some((n) => n.includes(key));
    const lists = await Promise.all(['a', 'b'].map(async (key) => (await readKey(key)).creation?.price_list_id ?? ''));
    const { fired } = atCommit(database, isOf(lists[0] ?? ''), () => promise);
    failCommits(database, isOf(lists[1] ?? ''), { code: 'UNAVAILABLE', times: Infinity });
    const createTimeout: Clock['createTimeout'] = (ms, ...rest) =>
      systemClock.createTimeout(ms === SWEEP_ASK_INTERVAL_MS ? 50 : ms, ...rest);
    const clock: Clock = {
      elapsedMs: () => database.clock.elapsedMs(),
      sleep: (...args) => database.clock.sleep(...args),
      createTimeout,
    };
    const { summary, results } = startSweep({}, { clock });
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
    atCommit(database, isEntries, () => stop.abort(new StoppedError('stopped')));
    const { summary } = await runSweep({ concurrency: 1 }, { signal: stop.signal });
    expect(summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    const failures = await Promise.all(['a', 'b'].map(async (key) => (await readKey(key)).failure));
    expect(failures.sort()).toEqual([STOPPED.failure, STOPPED.failure]);
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

  test('asks again after the interval, resumes what has become due, and ends with the last resume', async () => {
    await fail('a', STOPPED);
    await fail('b', { ...STOPPED, updated_at: TEST_START + 1 });
    const { promise, resolve: letGo } = Promise.withResolvers<undefined>();
    const { fired } = atCommit(database, isEntries, () => promise);
    const createTimeout: Clock['createTimeout'] = (ms, ...rest) =>
      systemClock.createTimeout(ms === SWEEP_ASK_INTERVAL_MS ? 100 : ms, ...rest);
    const { clock } = database;
    const { summary, results } = startSweep(
      {},
      { clock: { elapsedMs: () => clock.elapsedMs(), sleep: (...args) => clock.sleep(...args), createTimeout } },
    );
    await fired;
    clock.advance(1);
    await waitFor(() => results.length === 1);
    expect(results.map(([key, result]) => [key, result])).toEqual([['b', 'resumed']]);
    letGo(undefined);
    expect(await summary).toEqual({ ...NOTHING_DONE, resumed: 2 });
  });
});

describe('a key that needs an operator is reported', () => {
  beforeEach(() => fail('a', { ...CRASHED, automatic_resumes: 3 }));

  const LEFT = [['a', 'left', 'it was resumed 3 times without an operator, and failed again', expect.any(Number)]];

  /** Matches the commits that change only the time at which the key is due. */
  const isDueTime = ({ request: { writes } }: Call<'Commit'>) =>
    writes.some((write) => write.kind === 'update' && write.mask?.join() === 'sweep_due_at');

  test('once, and then is not due', async () => {
    expect((await runSweep()).results).toEqual(LEFT);
    expect(await readKey('a')).not.toHaveProperty('sweep_due_at');
    expect((await runSweep()).results).toEqual([]);
  });

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

  test('each time that it comes to need one', async () => {
    expect((await runSweep()).results).toEqual(LEFT);
    const fault = failCommits(database, isEntries);
    expect((await runResume(await readKey('a'))).outcome).toMatchObject({ code: 7 });
    fault.remove();
    expect((await runSweep()).results.map(([, result]) => result)).toEqual(['left']);
  });
});

describe('a recovery with a further fault that broke a similar service', () => {
  beforeEach(() => fail('a', CRASHED));

  const expectReplayed = async () => {
    expect(await create('a')).toMatchObject({ replayed: true });
    await check('a');
  };

  test('takes longer in an outage, and completes the attempt (dbos-transact-py #716)', async () => {
    failPayloadReads('UNAVAILABLE', 6);
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'Commit'] as const)
      database.firestore.faults.inject({ rpc, times: 6, action: { kind: 'error', code: 'UNAVAILABLE' } });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    await expectReplayed();
  });

  test('freezes while another one completes the key, and writes nothing twice (aegra #547)', async () => {
    let other: unknown;
    atCommit(database, isEntries, async () => {
      await updateKey(getKey('a'), { lease_expires_at: TEST_START });
      other = (await runSweep()).summary;
    });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    expect(other).toEqual({ ...NOTHING_DONE, resumed: 1 });
    expect((await readKey('a')).actions).toHaveLength(2);
    await expectReplayed();
  });
});

describe('the clock of Firestore alone decides, so', () => {
  /** Creates `a` in a process whose own clock shows any time, and which dies at its first commit of entries. */
  async function crash() {
    const { promise: died } = Promise.withResolvers<undefined>();
    const { fired } = atCommit(database, isEntries, () => died, { times: 2 });
    const startMs = 1e12;
    const clock: Clock = { ...systemClock, elapsedMs: () => startMs };
    const { db, context } = database.open({ clock });
    void createPriceLists(
      parseSubmission(createBody('a')),
      { requestId: 'r', apiKeyId: 'k', log: NO_LOG },
      db,
      context,
    ).catch(() => undefined);
    await fired;
    database.firestore.faults.clear();
  }

  test('the sweep resumes a crashed attempt at the end of its lease, whatever the clock of its process', async () => {
    await crash();
    database.clock.advance(LEASE_DURATION_MS - 1);
    expect((await runSweep()).results).toEqual([]);
    database.clock.advance(1);
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    await check('a');
  });

  test('a process whose clock stands a day behind fails no live attempt', async () => {
    await crash();
    const live = await readKey('a');
    const behind: Clock = { ...systemClock, elapsedMs: () => -86_400_000 };
    const { db, context } = database.open({ clock: behind });
    const request = { requestId: 'r', apiKeyId: 'k', log: NO_LOG };
    await expect(createPriceLists(parseSubmission(createBody('a')), request, db, context)).rejects.toMatchObject({
      code: 'request_in_progress',
    });
    expect(await readKey('a')).toEqual(live);
  });
});
