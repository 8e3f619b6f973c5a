import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { createPriceLists } from '../../../src/price-lists/create';
import { release, ResolutionError } from '../../../src/price-lists/resume';
import { checkInvariants } from '../../resilience/invariants';
import { atCommit, failCommits, isEntries, isKeyEvent } from '../../support/commits';
import { TEST_START } from '../../support/database';
import { CRASHED, PRODUCTS, useFailedAttempts } from '../../support/failed-attempts';
import { readListEntries, TEST_REQUEST } from '../../support/price-lists';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

const { database, create, getKey, readKey, fail, check, deletePayload, getPriceList, runResume } = useFailedAttempts();

async function runRelease(record: KeyRecord): Promise<unknown> {
  const { db, context } = database.open();
  return release(record, { by: 'operator', reason: null }, db, context).catch((error: unknown) => error);
}

describe('a resume', () => {
  test('writes what is missing or differs, completes the key and returns its response', async () => {
    const record = await fail('a');
    const { expected_forward_cost_id, price_list_id } = record.lists ?? {};
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
    const { expected_forward_cost_id, price_list_id } = record.lists ?? {};
    for (const path of [`expected_forward_costs/${expected_forward_cost_id}`, `price_lists/${price_list_id}`]) {
      const list = database.client.doc(path);
      const { docs } = await list.collection('products').get();
      await Promise.all([list, ...docs.map(({ ref }) => ref)].map((each) => each.delete()));
    }
    await runResume(record);
    await check('a');
  });

  test('of a crashed attempt fails its lists when it takes over, with that time', async () => {
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
      detail: '0 chunks are stored instead of 1',
      message:
        'the stored payload cannot be used, so the attempt can only be released: 0 chunks are stored instead of 1',
    });
    expect(await readKey('a')).toEqual(record);
  });

  test('whose payload has a chunk without data changes nothing, and says that the payload is damaged', async () => {
    const record = await fail('a');
    await database.client.doc(`price_list_requests/${record.document_id}/price_list_payload/0000`).set({});
    expect((await runResume(record)).outcome).toMatchObject({ detail: 'it is damaged: unexpected end of file' });
    expect(await readKey('a')).toEqual(record);
  });

  test('of a completed attempt returns the stored response', async () => {
    const record = await fail('a');
    const { outcome } = await runResume(record);
    expect((await runResume(record)).outcome).toBe(outcome);
  });

  test('of an attempt that is released during the resume is rejected', async () => {
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

describe('a release', () => {
  test('frees the key for another attempt, although its reply is lost, and can be repeated', async () => {
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
      return createPriceLists(submission, TEST_REQUEST, db, context);
    };
    const { response } = await createNowhere('nowhere');
    expect(await runRelease(await readKey('a'))).toBeUndefined();
    expect(await createNowhere('nowhere')).toMatchObject({ replayed: false });
    expect((await readKey('a')).history).toMatchObject([{ response, lists: null }]);
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
