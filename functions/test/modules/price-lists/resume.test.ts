import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { createPriceLists } from '../../../src/price-lists/create';
import { release } from '../../../../command/cli/resolve';
import { checkInvariants } from '../../../../test/harness/invariants';
import { atCommit, failCommits, getCommits, isEntries, isKeyEvent } from '../../../../test/harness/commits';
import { TEST_START } from '../../../../test/harness/database';
import { CRASHED, useFailedAttempts } from '../../../../test/harness/failed-attempts';
import { TEST_REQUEST } from '../../../../test/harness/price-lists';
import { createPriceListBody, parseSubmission } from '../../../../test/harness/submissions';

const { database, create, readKey, fail, check, deletePayload, getPriceList, runResume } = useFailedAttempts();

async function runRelease(record: KeyRecord): Promise<unknown> {
  const { db } = database.open();
  return release(record, { by: 'sweep', reason: 'sent twice' }, db).catch((error: unknown) => error);
}

const readRelease = async ({ document_id }: KeyRecord): Promise<unknown> =>
  (await database.client.doc(`price_list_requests/${document_id}`).get()).get('released');

describe('a resume', () => {
  test('writes all entries again, completes the key and returns its response', async () => {
    const record = await fail('a', { failed_tries: 4 });
    const costs = `expected_forward_costs/${record.lists?.expected_forward_cost_id}`;
    await database.client.doc(`${costs}/products/product-0`).set({ expected_forward_cost_price: 17 });
    database.clock.advance(5_000);

    const outcome = await runResume(record);
    const resumed = await readKey('a');
    expect(outcome).toMatchObject({ response: resumed.response, isOwn: true });
    expect(resumed).toMatchObject({
      status: 'completed',
      owner: 'owner-2',
      failed_tries: 0,
      updated_at: TEST_START + 5_000,
      actions: [{ action: 'resume', at: TEST_START + 5_000, by: 'operator', reason: 'checked' }],
    });
    await check('a');
    expect(await create('a')).toMatchObject({ response: resumed.response, replayed: true });
  });

  test('writes each identifier as the client sent it, even one with characters beyond ASCII', async () => {
    const ids = ['цемент', 'Größe "7"', '砂利', '🧱', 'a\u0301', 'á', '\u0080', '€'];
    const prices = { price_list_price: 1, expected_forward_cost_price: 2 };
    const body = {
      ...createPriceListBody(0, { boq_list_id: 'ключ', name: 'Прайс' }),
      products: Object.fromEntries(ids.map((id) => [id, prices])),
    };
    const { db } = database.open();
    const fault = failCommits(database, isEntries);
    await createPriceLists(parseSubmission(body), TEST_REQUEST, db).catch(() => undefined);
    fault.remove();
    const record = await readKey('ключ');
    expect(await runResume(record)).toMatchObject({ isOwn: true });
    // Reads the entries themselves, because the audit decodes the payload as the resume does.
    for (const path of [
      `expected_forward_costs/${record.lists?.expected_forward_cost_id}/products`,
      `price_lists/${record.lists?.price_list_id}/products`,
    ]) {
      const { docs } = await database.client.collection(path).get();
      expect(docs.map((entry) => entry.id).sort()).toEqual([...ids].sort());
    }
    await checkInvariants(database.client, [parseSubmission(body)]);
  });

  test('of a crashed attempt creates its lists again if they were deleted, first as processing and then as ready', async () => {
    const record = await fail('a', CRASHED);
    const { expected_forward_cost_id, price_list_id } = record.lists ?? {};
    for (const path of [`expected_forward_costs/${expected_forward_cost_id}`, `price_lists/${price_list_id}`]) {
      const list = database.client.doc(path);
      const { docs } = await list.collection('products').get();
      await Promise.all([list, ...docs.map(({ ref }) => ref)].map((each) => each.delete()));
    }
    database.clock.advance(5_000);
    let taken: unknown;
    atCommit(database, isEntries, async () => {
      taken = (await getPriceList(record).get()).data();
      database.clock.advance(1_000);
    });
    await runResume(record);
    expect(taken).toMatchObject({ status: 'processing', created_at: TEST_START, updated_at: TEST_START + 5_000 });
    expect((await getPriceList(record).get()).data()).toMatchObject({
      status: 'ready',
      updated_at: TEST_START + 6_000,
    });
    await check('a');
  });

  test("that cannot take over the key throws Firestore's error, and changes nothing", async () => {
    const record = await fail('a');
    failCommits(database, isKeyEvent, { times: 1 });
    expect(await runResume(record)).toMatchObject({ code: 7 });
    expect(await readKey('a')).toEqual(record);
  });

  test('without a stored payload writes no entries, and fails the attempt permanently with the reason', async () => {
    const record = await fail('a', { failure_cause: 'timeout' });
    await deletePayload(record);
    const calls = database.recordCalls();
    expect(await runResume(record)).toMatchObject({ name: 'UnusablePayloadError' });
    expect(getCommits(calls).filter(isEntries)).toEqual([]);
    const failure = { failure: 'payload chunks are missing', failure_cause: 'error', failed_tries: 1 };
    expect(await readKey('a')).toMatchObject({ status: 'requires_review', ...failure });
  });

  test('that another operator has overtaken returns the stored response as that of another owner, and is not recorded', async () => {
    const record = await fail('a');
    await runResume(record);
    const { response, actions } = await readKey('a');
    expect(await runResume(record)).toMatchObject({ response, isOwn: false });
    expect((await readKey('a')).actions).toEqual(actions);
  });

  test('that begins during another resume is rejected', async () => {
    const record = await fail('a');
    let other: unknown;
    atCommit(database, isEntries, async () => {
      other = await runResume(record);
    });
    expect(await runResume(record)).toMatchObject({ response: (await readKey('a')).response, isOwn: true });
    expect(other).toMatchObject({ code: 'key_in_progress' });
  });

  test('of an attempt that is released during the resume is rejected', async () => {
    const record = await fail('a');
    const run = async () => {
      database.clock.advance(2 * LEASE_DURATION_MS);
      expect(await runRelease(record)).toBeUndefined();
    };
    atCommit(database, isKeyEvent, run, { nth: 2 });
    expect(await runResume(record)).toMatchObject({ code: 'key_released' });
    expect(await readKey('a')).toMatchObject({ status: 'released' });
  });
});

describe('a release', () => {
  const ACTION = { action: 'release', by: 'sweep', reason: 'sent twice' };

  test('frees the key for another attempt even if the reply to its commit is lost, and can be repeated', async () => {
    const record = await fail('a');
    const at = TEST_START + 1_000;
    database.clock.advance(1_000);
    failCommits(database, isKeyEvent, { code: 'UNAVAILABLE', times: 1, when: 'after' });
    expect(await runRelease(record)).toBeUndefined();
    const actions = [{ ...ACTION, at }];
    const { sweep_due_at: _, ...rest } = record as KeyRecord & { sweep_due_at: number };
    expect(await readKey('a')).toEqual({ ...rest, status: 'released', updated_at: at, actions });
    expect(await runRelease(record)).toBeUndefined();
    const { failure, failure_cause } = record;
    expect(await readRelease(record)).toEqual({ at, failure, failure_cause, actions });
    await check('a');
    expect(await create('a')).toMatchObject({ replayed: false });
    expect(await readKey('a')).toMatchObject({ status: 'completed', actions: [], failure: null });
    expect((await readKey('a')).document_id).not.toBe(record.document_id);
    expect(await runRelease(record)).toMatchObject({ code: 'lists_ready' });
    await check('a');
  });

  test('keeps every action that was recorded, in the request record too', async () => {
    const record = await fail('a');
    const fault = failCommits(database, isEntries);
    await runResume(record);
    await runResume(await readKey('a'));
    fault.remove();
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    const resume = { action: 'resume', by: 'operator', reason: 'checked' };
    const actions = [resume, resume, ACTION];
    expect((await readKey('a')).actions).toMatchObject(actions);
    expect(await readRelease(record)).toMatchObject({ actions });
  });

  test('frees a key that completed without lists, and a late retry of the request counts as a new request', async () => {
    const createNowhere = (market_id: string) => {
      const { db } = database.open();
      const submission = parseSubmission(createPriceListBody(1, { boq_list_id: 'a', market_id }));
      return createPriceLists(submission, TEST_REQUEST, db);
    };
    await createNowhere('nowhere');
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    expect(await createNowhere('nowhere')).toMatchObject({ replayed: false });
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    expect(await createNowhere('market-1')).toMatchObject({ replayed: false, facts: { market_found: true } });
    const bodies = ['nowhere', 'market-1'].map((market_id) => createPriceListBody(1, { boq_list_id: 'a', market_id }));
    await checkInvariants(database.client, bodies.map(parseSubmission));
  });

  test('of a crashed attempt counts the expired lease as a failed try, fails the price list, and needs no request record', async () => {
    const record = await fail('a', CRASHED);
    await getPriceList(record).update({ status: 'processing' });
    await database.client.doc(`price_list_requests/${record.document_id}`).delete();
    expect(await runRelease(record)).toBeUndefined();
    const cause = { failure_cause: 'lease_expired', failed_tries: 2 };
    expect(await readKey('a')).toMatchObject({ status: 'released', ...cause, actions: [ACTION] });
    expect((await getPriceList(record).get()).get('status')).toBe('failed');
  });
});
