import { FieldValue } from 'firebase-admin/firestore';
import { gzipSync } from 'node:zlib';
import type { Call } from '../../../../packages/firestore-local/src';
import { systemClock, type Clock } from '../../../src/lib/clock';
import { StoppedError } from '../../../src/lib/errors';
import { keyDocumentId } from '../../../src/lib/repositories/price-lists';
import type { RequestContext } from '../../../src/lib/request-context';
import { LEASE_DURATION_MS, SWEEP_ASK_INTERVAL_MS } from '../../../src/lib/time-limits';
import type { ClaimedLists, KeyRecord } from '../../../src/lib/schemas/key-record';
import { createPriceLists } from '../../../src/price-lists/create';
import { findPendingEntries, getAllEntries } from '../../../src/price-lists/entries';
import { type OperatorDecision } from '../../../src/price-lists/key-state-machine';
import { MAX_AUTOMATIC_RESUMES } from '../../../src/price-lists/sweep-schedule';
import { KeyStore } from '../../../src/price-lists/key-store';
import { LeaseLostError } from '../../../src/price-lists/lease';
import type { WrittenEntries } from '../../../src/price-lists/progress';
import { RunningAttempt } from '../../../src/price-lists/running-attempt';
import { compressToChunks, computeFingerprint, parseStoredPayload } from '../../../src/price-lists/payload';
import { release, ResolutionError, resume } from '../../../src/price-lists/resume';
import * as submissionParser from '../../../src/price-lists/submission-parser';
import { sweep, type SweepOptions, type SweepResult } from '../../../src/price-lists/sweep';
import { TEST_BATCH, useTestBatches } from '../../resilience/calls';
import { checkInvariants } from '../../resilience/invariants';
import { TEST_START, useTestDatabase } from '../../support/database';
import { createKeyRecord, TEST_CREATION } from '../../support/key-records';
import { NO_LOG, readListEntries, writeMarket, updateKey } from '../../support/price-lists';
import { createPriceListBody, parseSubmission } from '../../support/submissions';
import { waitFor } from '../../support/wait-for';

/** Resume, release and sweep over a database, without HTTP and without the command. */

const database = useTestDatabase();
beforeAll(useTestBatches);
beforeEach(async () => {
  database.reset();
  await writeMarket(database.client);
});

const PRODUCTS = 2 * TEST_BATCH + 1;
const createBody = (key: string) => createPriceListBody(PRODUCTS, { boq_list_id: key });

const isEntries = ({ request }: Call<'Commit'>) => request.writes.some(({ name }) => name.includes('/products/'));

/** Each event of a key: here a take-over, then the completion or failure. */
const isOfKey = ({ request }: Call<'Commit'>) =>
  request.writes.some(({ name }) => name.includes('/price_list_idempotency/'));

const isOfPayload = ({ request }: Call<'RunQuery'>) => JSON.stringify(request, toPlain).includes('payload');

/** Runs something before the completion of a resume. */
const atCompletion = (run: () => Promise<void>) =>
  database.firestore.faults.inject({ rpc: 'Commit', match: isOfKey, nth: 2, action: { kind: 'call', run } });

function create(key: string, changed: Partial<RequestContext> = {}) {
  const { db, context } = database.open(changed);
  const request = { requestId: 'request-1', apiKeyId: 'api-key-1', log: NO_LOG };
  return createPriceLists(parseSubmission(createBody(key)), request, db, context);
}

const getKey = (key: string) => database.client.collection('price_list_idempotency').doc(keyDocumentId(key));
const readKey = async (key: string) => (await getKey(key).get()).data() as KeyRecord;

/** Fails an attempt at its third commit of entries, for good; then its record is made what a test needs. */
async function fail(key: string, update: Partial<KeyRecord> = {}): Promise<KeyRecord> {
  const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
  const fault = database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, nth: 3, times: 1_000, action });
  await expect(create(key)).rejects.toMatchObject({ code: 'creation_failed' });
  fault.remove();
  if (Object.keys(update).length > 0) await updateKey(getKey(key), update);
  return readKey(key);
}

/** What a process leaves that was killed. */
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
  database.client.doc(`price_list_requests/${document_id}/payload/0000`).delete();

const BY_OPERATOR: OperatorDecision = { by: 'operator', reason: 'checked' };

async function runResume(
  record: KeyRecord,
  changed: Partial<RequestContext> = {},
  decision: OperatorDecision = BY_OPERATOR,
): Promise<{ outcome: unknown; progress: WrittenEntries[] }> {
  const { db, context } = database.open(changed);
  const progress: WrittenEntries[] = [];
  const onProgress = (written: WrittenEntries) => progress.push({ ...written });
  const outcome = await resume(record, decision, db, context, onProgress).catch((error: unknown) => error);
  return { outcome, progress };
}

const runRelease = async (record: KeyRecord): Promise<unknown> => {
  const { db, context } = database.open();
  return release(record, { by: 'operator', reason: null }, db, context).catch((error: unknown) => error);
};

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
    expect(JSON.parse(String(outcome))).toMatchObject({ success: true, products_count: PRODUCTS });
    // What was written by the first attempt is left out, but for the one entry that differed.
    const pending = 2 * PRODUCTS - before + 1;
    expect(progress[0]).toEqual(expect.objectContaining({ entries_written: 0, entries_total: pending }));
    expect(progress.at(-1)).toMatchObject({ entries_written: pending });
    await check('a');
    expect(await create('a')).toEqual({ response: resumed.response, replayed: true });
  });

  test.each([
    ['that failed', {}],
    ['that crashed', CRASHED],
  ])(
    'of an attempt %s makes whole lists ready at its time, also where somebody has deleted them',
    async (_, update) => {
      const record = await fail('a', update);
      const { expected_forward_cost_id, price_list_id } = record.creation ?? {};
      const paths = [`expected_forward_costs/${expected_forward_cost_id}`, `price_lists/${price_list_id}`];
      const readLists = async () =>
        Promise.all(paths.map(async (path) => (await database.client.doc(path).get()).data()));
      const failed = await readLists();
      for (const path of paths) await database.client.recursiveDelete(database.client.doc(path));
      database.clock.advance(5_000);
      await runResume(record);
      expect(await readLists()).toEqual(
        failed.map((list) => ({ ...list, status: 'ready', updated_at: TEST_START + 5_000 })),
      );
      await check('a');
    },
  );

  test('of an attempt that crashed fails its lists as it takes over, at that time', async () => {
    const record = await fail('a', CRASHED);
    const list = database.client.doc(`price_lists/${record.creation?.price_list_id}`);
    await list.update({ status: 'processing' });
    database.clock.advance(5_000);
    let meanwhile: unknown;
    atCompletion(async () => {
      meanwhile = (await list.get()).data();
    });
    const run = () => database.clock.advance(1_000);
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action: { kind: 'call', run } });
    await runResume(record);
    expect(meanwhile).toMatchObject({ status: 'failed', updated_at: TEST_START + 5_000 });
    expect((await list.get()).data()).toMatchObject({ status: 'ready', updated_at: TEST_START + 6_000 });
  });

  test('holds its lease from the take-over on', async () => {
    const record = await fail('a', { lease_expires_at: TEST_START - 90_000 });
    let meanwhile: unknown;
    atCompletion(async () => {
      meanwhile = await readKey('a');
    });
    await runResume(record);
    expect(meanwhile).toMatchObject({
      status: 'processing',
      owner: 'owner-2',
      lease_expires_at: TEST_START + LEASE_DURATION_MS,
      sweep_due_at: TEST_START + LEASE_DURATION_MS,
    });
  });

  test('that may not take over throws why', async () => {
    const record = await fail('a');
    const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isOfKey, action });
    expect((await runResume(record)).outcome).toMatchObject({ code: 7 });
    expect(await readKey('a')).toEqual(record);
  });

  test('renews its lease while it looks for what is missing', async () => {
    const record = await fail('a');
    const { db, context } = database.open();
    database.firestore.faults.inject({
      rpc: 'RunQuery',
      match: ({ request }) => JSON.stringify(request, toPlain).includes('products'),
      times: 2,
      action: { kind: 'call', run: () => database.clock.advance(25_000) },
    });
    await resume(record, BY_OPERATOR, db, context);
    expect((await readKey('a')).lease_expires_at).toBe(TEST_START + 50_000 + LEASE_DURATION_MS);
  });

  test('of a payload that is not stored changes nothing', async () => {
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

  test('of an attempt that is completed by now returns its response', async () => {
    const record = await fail('a');
    const { outcome } = await runResume(record);
    const calls = database.recordCalls();
    expect((await runResume(record)).outcome).toBe(outcome);
    expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery', 'BatchGetDocuments']);
  });

  test.each<[string, Partial<KeyRecord>, string]>([
    ['that is in progress', { ...CRASHED, lease_expires_at: TEST_START + 1 }, 'key_in_progress'],
    ['that was released', { status: 'released' }, 'key_released'],
    ['that another attempt followed', { document_id: 'another' }, 'key_in_review_again'],
  ])('of an attempt %s is rejected', async (_, update, code) => {
    const record = await fail('a');
    await getKey('a').update(update);
    expect((await runResume(record)).outcome).toMatchObject({ code, detail: undefined });
  });

  test('that cannot go on fails the attempt, and throws why', async () => {
    const record = await fail('a');
    const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: 1_000, action });
    const { outcome } = await runResume(record);
    expect(outcome).toMatchObject({ code: 7 });
    expect(await readKey('a')).toMatchObject({ status: 'requires_review', owner: 'owner-2', failure_cause: 'error' });
    await check('a');
  });

  test('that is stopped gives the attempt back', async () => {
    const record = await fail('a');
    const controller = new AbortController();
    const action = { kind: 'call', run: () => controller.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action });
    const { outcome } = await runResume(record, { signal: controller.signal });
    expect(outcome).toMatchObject({ message: 'stopped' });
    expect(await readKey('a')).toMatchObject({ status: 'requires_review', failure_cause: 'stopped' });
  });

  test.each(['operator', 'sweep'])('that is stopped as it takes over gives the attempt back (%s)', async (by) => {
    const record = await fail('a', STOPPED);
    const stop = new AbortController();
    const action = { kind: 'call', run: () => stop.abort(new StoppedError('stopped')) } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isOfKey, when: 'after', action });
    if (by === 'sweep') await runSweep({}, { signal: stop.signal });
    else await runResume(record, { signal: stop.signal });
    const actions = by === 'sweep' ? [] : [expect.objectContaining({ by })];
    const givenBack = { status: 'requires_review', failure_cause: 'stopped', automatic_resumes: 0, actions };
    expect(await readKey('a')).toMatchObject(givenBack);
  });

  test('whose attempt another one completed meanwhile returns that response', async () => {
    const record = await fail('a');
    let other: unknown;
    const run = async () => {
      database.clock.advance(2 * LEASE_DURATION_MS);
      ({ outcome: other } = await runResume(record));
    };
    atCompletion(run);
    const { outcome } = await runResume(record);
    expect(outcome).toBe((await readKey('a')).response);
    expect(other).toBe(outcome);
    await check('a');
  });

  test('whose attempt was released meanwhile is rejected', async () => {
    const record = await fail('a');
    const run = async () => {
      database.clock.advance(2 * LEASE_DURATION_MS);
      expect(await runRelease(record)).toBeUndefined();
    };
    atCompletion(run);
    expect((await runResume(record)).outcome).toMatchObject({ code: 'key_released' });
    expect(await readKey('a')).toMatchObject({ status: 'released' });
  });

  test('of an attempt without lists completes it', async () => {
    const record = await fail('a', { creation: null });
    const { outcome, progress } = await runResume(record);
    expect(JSON.parse(String(outcome))).toMatchObject({ market: null, price_list: null });
    expect(progress).toEqual([]);
  });
});

describe('the search for entries that are not stored', () => {
  /** Stores entries of the price list, with any value as price. */
  async function store(entries: readonly (readonly [id: string, price: unknown])[]) {
    for (let start = 0; start < entries.length; start += 500) {
      const batch = database.client.batch();
      for (const [id, price] of entries.slice(start, start + 500))
        batch.set(database.client.doc(`price_lists/price-list/products/${id}`), { price_list_price: price });
      await batch.commit();
    }
  }

  const createProducts = (ids: readonly string[]): submissionParser.ProductColumns => ({
    ids: [...ids].sort(),
    expectedForwardCostPrices: new Float64Array(ids.length).fill(2),
    priceListPrices: new Float64Array(ids.length).fill(1.5),
  });

  const createAttempt = (creation: ClaimedLists | null) => {
    const { db, context } = database.open();
    const keys = new KeyStore(getKey('boq-1'), db, context);
    return new RunningAttempt(createKeyRecord({ creation }), keys, 'resume');
  };

  /** Ids of the entries of the price list that are still to be written. */
  async function findMissing(ids: readonly string[]): Promise<string[]> {
    const products = createProducts(ids);
    const { price_list } = await findPendingEntries(products, createAttempt(TEST_CREATION));
    return Array.from(price_list, (place) => products.ids[place] ?? '').sort();
  }

  test('finds what is missing, has another price or no number as price, in the order of writing', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `product-${i}`);
    const isPending = (i: number) => i % 3 === 0;
    await store(ids.map((id, i) => [id, isPending(i) ? (i % 2 === 0 ? 1 : '1.5') : 1.5]).slice(0, 37) as []);
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

  test('reads one list after the other, so that nothing goes on when one of them fails', async () => {
    const calls = database.recordCalls();
    database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
    await expect(findMissing(['a'])).rejects.toMatchObject({ code: 7 });
    expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery']);
  });

  test('renews the lease after every thousand entries', async () => {
    const ids = Array.from({ length: 2_001 }, (_, i) => `product-${i}`);
    await store(ids.map((id) => [id, 1.5]));
    const attempt = createAttempt(TEST_CREATION);
    const renewIfDue = jest.spyOn(attempt.lease, 'renewIfDue').mockResolvedValue();
    await findPendingEntries(createProducts(ids), attempt);
    expect(renewIfDue).toHaveBeenCalledTimes(2);
  });

  test('outlasts a short outage as it renews the lease, and ends without the lease', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `product-${i}`);
    await store(ids.map((id) => [id, 1.5]));
    const attempt = createAttempt(TEST_CREATION);
    await getKey('boq-1').set(attempt.record);
    database.clock.advance(attempt.record.lease_expires_at - TEST_START);
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

test('a stored payload is valid if it has the fingerprint of its attempt', async () => {
  const submission = parseSubmission(createBody('a'));
  const chunks = await compressToChunks(submission);
  const attempt = { payload_chunks: 1, fingerprint: computeFingerprint(submission), fingerprint_version: 1 };
  expect(await parseStoredPayload(chunks, attempt)).toEqual({ kind: 'valid', submission });
  const another = { ...attempt, fingerprint: 'another' };
  const reason = 'it is not the accepted one: its fingerprint differs';
  expect(await parseStoredPayload(chunks, another)).toEqual({ kind: 'invalid', reason, chunks: 1 });
  expect(await parseStoredPayload([], attempt)).toMatchObject({ kind: 'invalid', chunks: 0 });
});

describe('a stored payload that cannot be used', () => {
  const pack = (text: string) => [gzipSync(text)];
  const rejected = JSON.stringify({ info: createBody('a').info, products: { ' a': {} } });

  test.each([
    ['bytes that are no gzip', [Buffer.from('damaged')], 1, 'it is damaged: incorrect header check'],
    ['damaged JSON', pack('{"info'), 1, 'it is damaged: not JSON at byte 6'],
    ['rules that this version no longer has', pack(rejected), 1, 'it was accepted by a version with other rules'],
    ['a fingerprint of a later version', pack('{}'), 2, 'it was accepted by a later version'],
  ])('says so: %s', async (_, chunks, fingerprint_version, reason) => {
    const attempt = { payload_chunks: 1, fingerprint: 'any', fingerprint_version };
    expect(await parseStoredPayload(chunks, attempt)).toEqual({ kind: 'invalid', reason, chunks: 1 });
  });

  test('is not one that a defect of the program keeps from being read', async () => {
    const defect = jest.spyOn(submissionParser, 'createPriceListParser').mockImplementation(() => {
      throw new TypeError('a defect');
    });
    const attempt = { payload_chunks: 1, fingerprint: 'any', fingerprint_version: 1 };
    await expect(parseStoredPayload(pack(JSON.stringify(createBody('a'))), attempt)).rejects.toThrow('a defect');
    defect.mockRestore();
  });
});

describe('a release', () => {
  test('frees the key for another attempt, and may be repeated', async () => {
    const record = await fail('a');
    database.clock.advance(1_000);
    expect(await runRelease(record)).toBeUndefined();
    const list = await database.client.doc(`price_lists/${record.creation?.price_list_id}`).get();
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

  test('is done although its reply was lost and another attempt has completed the key since', async () => {
    const record = await fail('a');
    const run = async () => {
      await create('a');
    };
    const after = { rpc: 'Commit', when: 'after' } as const;
    database.firestore.faults.inject({ ...after, action: { kind: 'call', run } });
    database.firestore.faults.inject({ ...after, action: { kind: 'error', code: 'UNAVAILABLE' } });
    expect(await runRelease(record)).toBeUndefined();
    expect(await readKey('a')).toMatchObject({ status: 'completed', history: [{ document_id: record.document_id }] });
  });

  test('of a crashed attempt fails its lists', async () => {
    const record = await fail('a', CRASHED);
    await runRelease(record);
    expect(await readKey('a')).toMatchObject({ status: 'released', failure_cause: 'lease_expired' });
    await check('a');
  });

  test.each<[string, Partial<KeyRecord>, string]>([
    ['that is completed', { status: 'completed', response: '{}' }, 'lists_ready'],
    ['that is in progress', { ...CRASHED, lease_expires_at: TEST_START + 1 }, 'key_in_progress'],
    ['that another attempt followed', { document_id: 'another' }, 'key_in_review_again'],
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
  all: false,
};

const NOTHING_DONE = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };

function startSweep(options: Partial<SweepOptions> = {}, changed: Partial<RequestContext> = {}) {
  const { db, context } = database.open(changed);
  const results: [key: string, result: string, reason: string | null, sinceClaimMs: number][] = [];
  const unreadable: string[] = [];
  const reporter = {
    onResult: ({ boq_list_id, result, reason }: SweepResult, sinceClaimMs: number) =>
      void results.push([boq_list_id, result, reason, sinceClaimMs]),
    onUnreadable: (path: string) => void unreadable.push(path),
  };
  const summary = sweep(db, context, { ...OPTIONS, ...options }, reporter).catch((error: unknown) => error);
  return { summary, results, unreadable };
}

async function runSweep(...args: Parameters<typeof startSweep>) {
  const { summary, results, ...others } = startSweep(...args);
  return { ...others, summary: await summary, results: results.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/** Holds the first commit of entries until the test lets it go. */
function holdEntries() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const action = { kind: 'call', run: () => promise } as const;
  const fault = database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action });
  return { held: fault.fired, letGo: () => resolve(undefined) };
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

  test('resumes the oldest first', async () => {
    for (const [i, key] of ['c', 'a', 'd', 'b'].entries()) await fail(key, { ...STOPPED, updated_at: i + 1 });
    const { summary, results } = startSweep({ concurrency: 1 });
    await summary;
    expect(results.map(([key]) => key)).toEqual(['c', 'a', 'd', 'b']);
  });

  test('has no more resumes under way than it may', async () => {
    for (const key of ['a', 'b', 'c', 'd', 'e']) await fail(key, STOPPED);
    const { letGo } = holdEntries();
    const started = new Set<string>();
    const ended = new Set<string>();
    let most = 0;
    const isKey = ({ request }: Call<'Commit'>) =>
      request.writes.some(({ name }) => name.includes('/price_list_idempotency/'));
    const stop = database.firestore.observe((call) => {
      if (call.rpc !== 'Commit' || !isKey(call as Call<'Commit'>)) return;
      const { writes } = (call as Call<'Commit'>).request;
      const name = writes.find(({ name }) => name.includes('/price_list_idempotency/'))?.name ?? '';
      (started.has(name) ? ended : started).add(name);
      most = Math.max(most, started.size - ended.size);
    });
    const { summary, results } = startSweep({ concurrency: 2 });
    await waitFor(() => results.length === 4);
    letGo();
    expect(await summary).toMatchObject({ resumed: 5 });
    stop();
    expect(most).toBe(2);
  });

  test('leaves an attempt whose resume fails for good, and does not try it again', async () => {
    await fail('a', STOPPED);
    const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: 1_000, action });
    const { summary, results } = await runSweep();
    expect(summary).toEqual({ ...NOTHING_DONE, left: 1 });
    const reason = 'the failure is not transient: 7 PERMISSION_DENIED: injected PERMISSION_DENIED';
    expect(results).toEqual([['a', 'left', reason, 0]]);
    expect((await runSweep()).results).toEqual([]);
  });

  test('defers an attempt that another sweep has taken over meanwhile (dbos-transact-py #742)', async () => {
    await fail('a', STOPPED);
    const run = async () => {
      await getKey('a').update({ ...CRASHED, lease_expires_at: TEST_START + LEASE_DURATION_MS });
    };
    database.firestore.faults.inject({ rpc: 'RunQuery', nth: 2, action: { kind: 'call', run } });
    const { results } = await runSweep();
    expect(results).toEqual([['a', 'deferred', 'another attempt on the key is in progress', 0]]);
    expect(await readKey('a')).toMatchObject({ status: 'processing', owner: 'crashed' });
  });

  test('names a key record that it cannot read, and resumes the others', async () => {
    await fail('a', STOPPED);
    await getKey('a').update({ schema_version: 2 });
    await fail('b', STOPPED);
    const { summary, unreadable } = await runSweep();
    expect([summary, unreadable]).toEqual([{ ...NOTHING_DONE, resumed: 1 }, [getKey('a').path]]);
  });

  test('says once that a key needs an operator, and reads nothing of it after that', async () => {
    await fail('a', { ...CRASHED, automatic_resumes: 3 });
    await fail('b');
    const { results } = await runSweep();
    expect(results.map(([key, result]) => [key, result])).toEqual([
      ['a', 'left'],
      ['b', 'left'],
    ]);
    const calls = database.recordCalls();
    expect((await runSweep()).results).toEqual([]);
    expect((await runSweep({ all: true })).results).toEqual([]);
    expect((await runSweep({ all: true, dryRun: true })).results).toEqual([]);
    expect([...new Set(calls.map(({ rpc }) => rpc))]).toEqual(['RunQuery']);
  });

  test('waits a minute after the first resume that failed, and five after the second', async () => {
    await fail('a', { ...STOPPED, automatic_resumes: 1 });
    await fail('b', { ...STOPPED, automatic_resumes: 2 });
    const sweepAfter = async (ms: number) => {
      database.clock.advance(ms);
      return (await runSweep()).results.map(([key]) => key);
    };
    expect(await sweepAfter(59_999)).toEqual([]);
    expect(await sweepAfter(1)).toEqual(['a']);
    expect(await sweepAfter(239_999)).toEqual([]);
    expect(await sweepAfter(1)).toEqual(['b']);
  });

  test('gives a record that is not due the time that it has, and changes nothing else of it', async () => {
    await create('completed');
    const completed = await readKey('completed');
    await getKey('completed').update({ sweep_due_at: 1 });
    const live = await fail('live', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    await getKey('live').update({ sweep_due_at: 1 });
    const dry = await runSweep({ dryRun: true });
    expect([dry.summary, (await getKey('live').get()).get('sweep_due_at')]).toEqual([NOTHING_DONE, 1]);
    expect((await runSweep()).summary).toEqual(NOTHING_DONE);
    expect(await readKey('completed')).toEqual(completed);
    expect(await readKey('live')).toEqual(live);
  });

  test('gives no time to a record that changed since it was read', async () => {
    await fail('a', { ...CRASHED, lease_expires_at: TEST_START + 90_000 });
    await getKey('a').update({ sweep_due_at: 1 });
    const run = () => updateKey(getKey('a'), { status: 'requires_review', ...STOPPED });
    database.firestore.faults.inject({ rpc: 'Commit', action: { kind: 'call', run } });
    const refused = expect.stringContaining('FAILED_PRECONDITION') as string;
    expect((await runSweep()).results).toEqual([['a', 'deferred', refused, 0]]);
  });

  test('of all keys finds those that an older version left without a time', async () => {
    await fail('a', STOPPED);
    const waiting = await fail('b', { ...STOPPED, automatic_resumes: 1 });
    for (const key of ['a', 'b']) await getKey(key).update({ sweep_due_at: FieldValue.delete() });
    expect((await runSweep()).summary).toEqual(NOTHING_DONE);
    expect((await runSweep({ all: true })).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    expect(await readKey('b')).toEqual(waiting);
    const calls = database.recordCalls();
    await runSweep({ all: true });
    expect(calls.map(({ rpc }) => rpc)).not.toContain('Commit');
  });

  test('reads on where more keys are due than one reading has', async () => {
    const record = await fail('a', { ...STOPPED, creation: null });
    await deletePayload(record);
    const keys = Array.from({ length: 150 }, (_, i) => `key-${i}`);
    const batch = database.client.batch();
    for (const key of keys) batch.set(getKey(key), { ...record, boq_list_id: key, sweep_due_at: TEST_START });
    await batch.commit();
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, left: 151 });
  });

  test('reads records that do not parse once, however many of them are due', async () => {
    const batch = database.client.batch();
    for (let i = 0; i < 350; i += 1) batch.set(getKey(`key-${i}`), { sweep_due_at: TEST_START - 3_600_000 + (i % 2) });
    await batch.commit();
    const calls = database.recordCalls();
    expect((await runSweep()).unreadable).toHaveLength(350);
    const pages = calls.flatMap((call) => ('query' in call.request ? [call.request.query.limit] : []));
    expect(pages).toEqual([100, 100, 100, 100, 100]);
  });

  const createListIds = (id: string) => ({ ...TEST_CREATION, expected_forward_cost_id: id });

  test.each<[string, Partial<KeyRecord>, string]>([
    ['document_id is a path', { document_id: 'a/b' }, 'must point to a document'],
    ['document_id is empty', { document_id: '' }, 'must be a non-empty string'],
    ['list id is a path', { creation: createListIds('a/b') }, 'must point to a document'],
    ['list id is empty', { creation: createListIds('') }, 'must be a non-empty string'],
    ['boq_list_id is of another key', { boq_list_id: 'another' }, 'its boq_list_id is that of another record'],
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

  test('changes no list of a copied record, which may be those of another key', async () => {
    const { creation } = await fail('a', CRASHED);
    const list = database.client.doc(`price_lists/${creation?.price_list_id}`);
    await list.update({ status: 'ready' });
    await getKey('copy').set((await getKey('a').get()).data() ?? {});
    await getKey('a').delete();
    expect((await runSweep()).results.map(([, result]) => result)).toEqual(['left']);
    expect((await list.get()).get('status')).toBe('ready');
  });

  test('settles a lease in the far future, if it is to look at all keys', async () => {
    await fail('a', { ...CRASHED, lease_expires_at: TEST_START + 365 * 86_400_000 });
    expect((await runSweep()).summary).toEqual(NOTHING_DONE);
    expect((await runSweep({ all: true })).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    await check('a');
  });

  test('that cannot read a payload has tried the attempt: a transient error defers it, a permanent one leaves it', async () => {
    await fail('a', STOPPED);
    const failReading = (code: 'UNAVAILABLE' | 'PERMISSION_DENIED') =>
      database.firestore.faults.inject({
        rpc: 'RunQuery',
        match: isOfPayload,
        times: 1_000,
        action: { kind: 'error', code },
      });
    const fault = failReading('UNAVAILABLE');
    expect((await runSweep()).results).toMatchObject([
      ['a', 'deferred', expect.stringContaining('UNAVAILABLE'), expect.any(Number)],
    ]);
    expect(await readKey('a')).toMatchObject({ status: 'requires_review', automatic_resumes: 1 });
    fault.remove();
    failReading('PERMISSION_DENIED');
    database.clock.advance(60_000);
    expect((await runSweep()).results).toMatchObject([
      ['a', 'left', expect.stringContaining('PERMISSION_DENIED'), expect.any(Number)],
    ]);
    expect(await readKey('a')).toMatchObject({ automatic_resumes: 2, failure_cause: 'error' });
  });

  test('gives up a resume after a minute of errors, so that others have their turn', async () => {
    await fail('a', STOPPED);
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: Infinity, action });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    expect(database.clock.now() - TEST_START).toBeLessThan(65_000);
    expect(await readKey('a')).toMatchObject({ failure_cause: 'unavailable', automatic_resumes: 1 });
  });

  test('reports an attempt that someone else completed meanwhile as deferred, not as resumed', async () => {
    await fail('a', STOPPED);
    database.firestore.faults.inject({
      rpc: 'Commit',
      match: isOfKey,
      action: {
        kind: 'call',
        run: async () => {
          await runResume(await readKey('a'));
        },
      },
    });
    expect((await runSweep()).results).toEqual([['a', 'deferred', 'the key was resolved meanwhile', 125]]);
  });

  test('that cannot read the keys throws', async () => {
    database.firestore.faults.inject({
      rpc: 'RunQuery',
      times: 9,
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    expect((await runSweep()).summary).toMatchObject({ code: 7 });
  });

  test('that is stopped starts nothing more, and returns what it did', async () => {
    await fail('a', STOPPED);
    await fail('b', STOPPED);
    const controller = new AbortController();
    const run = () => controller.abort(new StoppedError('stopped'));
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action: { kind: 'call', run } });
    const { summary } = await runSweep({ concurrency: 1 }, { signal: controller.signal });
    expect(summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    const failures = await Promise.all(['a', 'b'].map(async (key) => (await readKey(key)).failure));
    expect(failures.sort()).toEqual(['stopped', STOPPED.failure]);
  });

  test('that was stopped before reads nothing', async () => {
    const calls = database.recordCalls();
    expect((await runSweep({}, { signal: AbortSignal.abort(new Error('stopped')) })).summary).toEqual(NOTHING_DONE);
    expect(calls).toEqual([]);
  });
});

describe('a key that comes to need an operator is reported', () => {
  beforeEach(() => fail('a', { ...CRASHED, automatic_resumes: 3 }));

  const LEFT = [['a', 'left', 'it was resumed 3 times without an operator, and failed again', expect.any(Number)]];

  /** The commits that change nothing but the time at which the key is due. */
  const isDueTime = ({ request: { writes } }: Call<'Commit'>) =>
    writes.some((write) => write.kind === 'update' && write.mask?.join() === 'sweep_due_at');

  async function sweepAfter(ms: number) {
    database.clock.advance(ms);
    return (await runSweep()).results;
  }

  test('by one of two sweeps that found it at the same time', async () => {
    const sweeps = await Promise.all([runSweep(), runSweep(), runSweep()]);
    expect(sweeps.flatMap(({ results }) => results)).toEqual(LEFT);
    expect(await sweepAfter(60_000)).toEqual([]);
  });

  test('by the sweep alone: requests that let its lease expire report nothing', async () => {
    const requests = await Promise.allSettled([create('a'), create('a'), create('a')]);
    expect(requests.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await sweepAfter(0)).toEqual(LEFT);
    expect(await sweepAfter(60_000)).toEqual([]);
  });

  test.each([
    ['takes its turn', 1, 0, 1],
    ['ends its turn', 2, 1, 0],
  ])('once, though the reply to the commit is lost by which a sweep %s', async (_, nth, before, after) => {
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isDueTime, nth, when: 'after', action });
    expect(await sweepAfter(0)).toHaveLength(before);
    expect(await sweepAfter(59_000)).toEqual([]);
    expect(await sweepAfter(1_000)).toHaveLength(after);
    expect(await sweepAfter(60_000)).toEqual([]);
  });

  test.each(['before', 'after'] as const)('again, if the sweep cannot store that it did (%s)', async (when) => {
    const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
    database.firestore.faults.inject({ rpc: 'Commit', match: isDueTime, nth: 2, when, action });
    expect((await sweepAfter(0)).map(([, result]) => result)).toEqual(['left', 'deferred']);
    expect(await sweepAfter(60_000)).toHaveLength(when === 'before' ? 1 : 0);
    expect(await sweepAfter(60_000)).toEqual([]);
  });

  test('not at all, if an operator released it meanwhile', async () => {
    const run = async () => {
      await runRelease(await readKey('a'));
    };
    database.firestore.faults.inject({ rpc: 'Commit', match: isDueTime, action: { kind: 'call', run } });
    expect(await sweepAfter(0)).toEqual([]);
    expect(await sweepAfter(60_000)).toEqual([]);
  });

  test('and stays due if another event was applied to it meanwhile', async () => {
    const leaseEnd = TEST_START + LEASE_DURATION_MS;
    const resumed = { status: 'processing', owner: 'another', lease_expires_at: leaseEnd, sweep_due_at: leaseEnd };
    const run = async () => {
      await getKey('a').update(resumed);
    };
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 3, action: { kind: 'call', run } });
    expect(await sweepAfter(0)).toEqual(LEFT);
    expect(await readKey('a')).toMatchObject(resumed);
  });

  test('each time that it comes to need one', async () => {
    expect(await sweepAfter(0)).toEqual(LEFT);
    const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
    const fault = database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: 1_000, action });
    expect((await runResume(await readKey('a'))).outcome).toMatchObject({ code: 7 });
    fault.remove();
    expect((await sweepAfter(0)).map(([, result]) => result)).toEqual(['left']);
  });
});

describe('a sweep that has something under way', () => {
  test('begins with nothing once it is to stop', async () => {
    await fail('a', STOPPED);
    expect((await runSweep({ stopping: AbortSignal.abort() })).results).toEqual([]);
  });

  test('asks again after the interval, resumes what is due by then, and ends with the last', async () => {
    await fail('a', STOPPED);
    await fail('b', { ...STOPPED, updated_at: TEST_START + 1 });
    const { held, letGo } = holdEntries();
    const createTimeout: Clock['createTimeout'] = (ms, ...rest) =>
      systemClock.createTimeout(ms === SWEEP_ASK_INTERVAL_MS ? 20 : ms, ...rest);
    const { clock } = database;
    const { summary, results } = startSweep(
      {},
      { clock: { now: () => clock.now(), sleep: (...args) => clock.sleep(...args), createTimeout } },
    );
    await held;
    clock.advance(1);
    await waitFor(() => results.length === 1);
    expect(results.map(([key, result]) => [key, result])).toEqual([['b', 'resumed']]);
    letGo();
    expect(await summary).toEqual({ ...NOTHING_DONE, resumed: 2 });
  });
});

describe('a recovery that meets the next trouble, which has broken a service like this one', () => {
  beforeEach(() => fail('a', CRASHED));

  const expectReplayed = async () => {
    expect(await create('a')).toMatchObject({ replayed: true });
    await check('a');
  };

  test('takes longer in an outage, and completes the attempt (dbos-transact-py #716)', async () => {
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'RunQuery', match: isOfPayload, times: 6, action });
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'Commit'] as const)
      database.firestore.faults.inject({ rpc, times: 6, action });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    await expectReplayed();
  });

  test('freezes while another one completes the key, and writes nothing twice (aegra #547)', async () => {
    let other: unknown;
    const run = async () => {
      await updateKey(getKey('a'), { lease_expires_at: TEST_START });
      other = (await runSweep()).summary;
    };
    database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action: { kind: 'call', run } });
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
    expect(other).toEqual({ ...NOTHING_DONE, resumed: 1 });
    expect((await readKey('a')).actions).toHaveLength(2);
    await expectReplayed();
  });

  test('is handed on by each instance that is replaced (dbos-transact-py #804)', async () => {
    for (let replaced = 1; replaced < MAX_AUTOMATIC_RESUMES; replaced += 1) {
      const instance = new AbortController();
      const run = () => instance.abort(new StoppedError('the instance is stopping'));
      database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action: { kind: 'call', run } });
      const { summary } = await runSweep({}, { signal: instance.signal });
      expect(summary).toEqual({ ...NOTHING_DONE, deferred: 1 });
      expect(await readKey('a')).toMatchObject({ failure_cause: 'stopped', automatic_resumes: 0 });
    }
    expect((await runSweep()).summary).toEqual({ ...NOTHING_DONE, resumed: 1 });
    await expectReplayed();
  });
});

/** Requests have Maps and big integers. */
const toPlain = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : typeof value === 'bigint' ? String(value) : value;
