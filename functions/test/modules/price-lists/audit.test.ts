import { FieldValue, Timestamp, type DocumentData, type DocumentReference } from 'firebase-admin/firestore';
import type { WorkContext } from '../../../src/lib/work-context';
import { keyDocumentId, type KeyRecord } from '../../../src/lib/schemas/key-record';
import { audit } from '../../../audit/audit';
import { createPriceLists } from '../../../src/price-lists/create';
import { release } from '../../../cli/resolve';
import type { Violation } from '../../../audit/violation';
import { failCommits, isEntries } from '../../support/commits';
import { TEST_START, useTestDatabase } from '../../support/database';
import { getAuditReads } from '../../support/billed-documents';
import { TEST_REQUEST, updateKey, writeMarket } from '../../support/price-lists';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

/** Runs the audit without the command. checks.test.ts tests every rule except `key_readable` and `reference`. */

const database = useTestDatabase();
beforeEach(async () => {
  database.reset();
  await writeMarket(database.client);
});

const PRODUCTS = 7;

async function create(key: string, market_id = 'market-1'): Promise<KeyRecord> {
  const { db, context } = database.open();
  const body = createPriceListBody(PRODUCTS, { boq_list_id: key, market_id });
  await createPriceLists(parseSubmission(body), TEST_REQUEST, db, context);
  return readKey(key);
}

const getKey = (key: string) => database.client.collection('price_list_idempotency').doc(keyDocumentId(key));
const readKey = async (key: string) => (await getKey(key).get()).data() as KeyRecord;

/** Marks a payload for deletion as docs/data-model.md#retention describes. */
async function retainUntil(request: DocumentReference, time: number): Promise<void> {
  const { docs: chunks } = await request.collection('price_list_payload').select().get();
  const batch = database.client.batch().update(request, { payload_expires_at: time });
  for (const { ref } of chunks) batch.update(ref, { expire_at: Timestamp.fromMillis(time) });
  await batch.commit();
}

/** Fails the attempt of a key for an operator, and releases it. The next creation claims the key again. */
async function failAndRelease(key: string): Promise<KeyRecord> {
  const fault = failCommits(database, isEntries, { nth: 2 });
  await expect(create(key)).rejects.toMatchObject({ code: 'creation_failed' });
  fault.remove();
  const record = await readKey(key);
  const { db, context } = database.open();
  database.clock.advance(1_000);
  await release(record, { by: 'ada', reason: 'x' }, db, context);
  return record;
}

const set = (path: string, data: DocumentData) => database.client.doc(path).set(data);

async function runAudit(sampleSize = Infinity, changed: Partial<WorkContext> = {}) {
  const { db, context } = database.open(changed);
  const violations: Violation[] = [];
  const progress: number[] = [];
  const report = await audit(db, context, sampleSize, {
    onViolation: (violation) => violations.push(violation),
    onProgress: (keys) => progress.push(keys),
  });
  const found = violations.map(({ rule, boq_list_id, path, message }) => [rule, boq_list_id, path, message]);
  return { report, found: found.sort(), progress };
}

test('it names a key record with ids that no document can have, and checks the other records', async () => {
  await create('a');
  await getKey('a').update({ 'lists.price_list_id': '__x__' });
  await create('b');
  await getKey('b').update({ fingerprint: 'another' });
  const { report, found } = await runAudit();
  expect(report.keys).toBe(2);
  expect(found).toContainEqual([
    'key_readable',
    'a',
    getKey('a').path,
    'is not a valid key record of schema version 1',
  ]);
  expect(found).toContainEqual(['request', 'b', expect.any(String), 'differs from its attempt: fingerprint']);
  expect(found.filter(([, key]) => key === null)).toEqual([]);
});

test('it writes nothing', async () => {
  await failAndRelease('a');
  await create('a');
  const calls = database.recordCalls();
  expect((await runAudit()).report).toMatchObject({ violations: 0, attempts: 2 });
  expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(
    new Set(['RunQuery', 'BatchGetDocuments', 'RunAggregationQuery']),
  );
});

describe('the audit reads', () => {
  test.each([
    [0, 0],
    [3, 2 * 3],
    [PRODUCTS, 2 * PRODUCTS],
    [PRODUCTS + 1, 2 * PRODUCTS],
    [Infinity, 2 * PRODUCTS],
  ])('the counts of both lists, and for a sample of %d a total of %d entries', async (sampleSize, entries) => {
    await create('a');
    const { report, found } = await runAudit(sampleSize, { random: Math.random });
    // It reads four pages, the request record, its chunk, two lists and two counts. For orphans it reads three
    // documents, and three queries find nothing.
    expect(report).toMatchObject({
      violations: 0,
      keys: 1,
      attempts: 1,
      document_reads: getAuditReads(1, entries / 2),
    });
    expect(found).toEqual([]);
  });

  test('only the request record and the payload of a key without lists', async () => {
    await create('a', 'nowhere');
    expect((await runAudit()).report).toMatchObject({
      violations: 0,
      keys: 1,
      attempts: 1,
      document_reads: 1 + 2 + 1 + 1 + 1 + 4,
    });
  });

  test('a released attempt of a key that was claimed again, and one that was not', async () => {
    await failAndRelease('a');
    const counts = { violations: 0, keys: 1, attempts: 1 };
    expect((await runAudit()).report).toMatchObject(counts);
    await create('a');
    expect((await runAudit()).report).toMatchObject({ ...counts, attempts: 2 });
  });

  test('pages of 100, and reports its progress', async () => {
    const batch = database.client.batch();
    for (let i = 0; i < 300; i += 1) batch.set(database.client.doc(`price_list_idempotency/${i}`), {});
    await batch.commit();
    const { report, found, progress } = await runAudit();
    expect(report).toMatchObject({ violations: 300, keys: 300, attempts: 0, document_reads: 300 + 4 + 3 });
    expect(new Set(found.map(([, , path]) => path)).size).toBe(300);
    expect(progress).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
  });

  test('three keys, and repeats calls that failed', async () => {
    for (const key of ['a', 'b', 'c']) await create(key);
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'RunAggregationQuery'] as const)
      database.firestore.faults.inject({ rpc, nth: 2, times: 2, action });
    const { report } = await runAudit();
    expect(report).toMatchObject({
      violations: 0,
      keys: 3,
      attempts: 3,
      document_reads: getAuditReads(3, PRODUCTS),
    });
  });
});

describe('the audit reports', () => {
  test.each([
    ['another price', { price_list_price: 17 }],
    ['another field', { secret: 1 }],
  ])('an entry with %s, whether all are compared or a sample', async (_, fields) => {
    const { lists } = await create('a');
    const path = `price_lists/${lists?.price_list_id}/products`;
    await database.client.doc(`${path}/product-3`).update(fields);
    const expected = [['entry_values', 'a', path, 'has 1 entries that differ from the payload']];
    expect((await runAudit()).found).toEqual(expected);
    expect((await runAudit(PRODUCTS)).found).toEqual(expected);
    const samples = [];
    for (let i = 0; i < PRODUCTS; i += 1)
      samples.push((await runAudit(1, { random: () => (i + 0.5) / PRODUCTS })).found);
    expect(samples.filter(({ length }) => length > 0)).toEqual([expected]);
    expect((await runAudit(0)).found).toEqual([]);
  });

  test('records of an attempt that differ', async () => {
    const { document_id, lists } = await create('a');
    const [request, costList, priceList] = [
      `price_list_requests/${document_id}`,
      `expected_forward_costs/${lists?.expected_forward_cost_id}`,
      `price_lists/${lists?.price_list_id}`,
    ];
    await database.client.doc(request).update({ fingerprint: 'another' });
    await database.client.doc(costList).update({ status: 'failed' });
    await database.client.doc(priceList).update({ currency: 'XXX' });
    expect((await runAudit()).found.map(([rule, , path]) => [rule, path])).toEqual([
      ['list_document', priceList],
      ['list_status', costList],
      ['request', request],
    ]);
  });

  test('a key record under the hash of another key, and that its records belong to none', async () => {
    const record = await create('a');
    await getKey('a').delete();
    await getKey('elsewhere').set(record);
    const rules = (await runAudit()).found.map(([rule]) => rule);
    expect(rules).toEqual(['key_readable', 'reference', 'reference', 'reference']);
  });

  describe('of a released attempt whose key was claimed again', () => {
    const getPaths = ({ document_id, lists }: KeyRecord) => ({
      request: `price_list_requests/${document_id}`,
      priceList: `price_lists/${lists?.price_list_id}`,
    });
    type Paths = ReturnType<typeof getPaths>;

    test.each<[string, keyof Paths, object, rule: string, message: string]>([
      [
        'a list that is ready',
        'priceList',
        { status: 'ready' },
        'list_status',
        'is not failed, but its attempt is released',
      ],
      [
        'a damaged id of a list',
        'request',
        { price_list_id: '__x__' },
        'request',
        'differs from its attempt: price_list_id',
      ],
      [
        'a request record without a release',
        'request',
        { released: FieldValue.delete() },
        'reference',
        'belongs to no present or released attempt of a key',
      ],
    ])('%s', async (_, name, update, rule, message) => {
      const paths = getPaths(await failAndRelease('a'));
      await create('a');
      await database.client.doc(paths[name]).update(update);
      const found = (await runAudit()).found.map(([rule, , path, message]) => [rule, path, message]);
      expect(found).toContainEqual([rule, paths[name], message]);
    });

    test('a list that does not exist', async () => {
      const { priceList } = getPaths(await failAndRelease('a'));
      await create('a');
      await database.client.doc(priceList).delete();
      expect((await runAudit()).found).toContainEqual(['list_document', 'a', priceList, 'does not exist']);
    });
  });

  test('entries of a sample that are not stored', async () => {
    const { lists } = await create('a');
    const path = `expected_forward_costs/${lists?.expected_forward_cost_id}/products`;
    for (let i = 0; i < PRODUCTS; i += 1) await database.client.doc(`${path}/product-${i}`).delete();
    let turn = 0;
    const random = () => (turn++ % 7) / 7;
    expect((await runAudit(2, { random })).found).toEqual([
      ['entry_count', 'a', path, 'has 0 entries for 7 products'],
      ['entry_values', 'a', path, 'has 2 products without an entry'],
    ]);
  });

  test('a wrong sweep_due_at, unless it is corrected during the audit', async () => {
    await create('a');
    await getKey('a').update({ sweep_due_at: TEST_START });
    const message = 'has 2026-06-01T00:00:00.000Z in sweep_due_at, but must have none';
    expect((await runAudit()).found).toEqual([['sweep_due_at', 'a', getKey('a').path, message]]);
    const correct = async () => {
      await getKey('a').update({ sweep_due_at: FieldValue.delete() });
    };
    database.firestore.faults.inject({
      rpc: 'BatchGetDocuments',
      match: ({ request }) => request.documents.some((name) => name.endsWith(getKey('a').path)),
      action: { kind: 'call', run: correct },
    });
    expect((await runAudit()).found).toEqual([]);
  });

  test('a payload that cannot be used, and compares no entries with it', async () => {
    const { document_id } = await create('a');
    await database.client.doc(`price_list_requests/${document_id}/price_list_payload/0000`).delete();
    const { report, found } = await runAudit();
    const message = 'cannot be used: chunks of it are missing';
    expect(found).toEqual([['payload', 'a', `price_list_requests/${document_id}/price_list_payload`, message]]);
    // The last 1 is for the key record, which the audit reads again before it reports the violation.
    expect(report).toMatchObject({ violations: 1, attempts: 1, document_reads: 4 + 4 + 2 + 5 + 1 });
  });

  test('a payload that retention has deleted if its key requires review, but not if its key is completed', async () => {
    const { document_id } = await create('a');
    const request = database.client.doc(`price_list_requests/${document_id}`);
    await retainUntil(request, Date.now());
    // Firestore deletes the chunk at some time after that.
    await request.collection('price_list_payload').doc('0000').delete();
    expect((await runAudit()).found).toEqual([]);

    await updateKey(getKey('a'), {
      status: 'requires_review',
      response: null,
      failure: 'failed',
      failure_cause: 'error',
    });
    expect((await runAudit()).found.map(([rule]) => rule)).toContain('payload');
  });

  test.each([
    ['with a version', { schema_version: 2, boq_list_id: 'a' }, 'a', 'is not a valid key record of schema version 2'],
    ['without a version or a key', { schema_version: '2', boq_list_id: 1 }, null, 'is not a valid key record'],
  ])('a key that cannot be read, %s', async (_, fields, key, message) => {
    await set('price_list_idempotency/unknown', fields);
    const { report, found } = await runAudit();
    expect(report).toMatchObject({ keys: 1, attempts: 0, violations: 1 });
    expect(found).toEqual([['key_readable', key, 'price_list_idempotency/unknown', message]]);
  });

  test('a record that belongs to no key, and whether it is a ready list', async () => {
    await set('price_lists/ready', { status: 'ready' });
    await set('price_lists/failed', { status: 'failed' });
    await set('expected_forward_costs/of-nothing', {});
    await set('price_list_requests/of-nothing', { info: { boq_list_id: 'unknown' } });
    const message = 'belongs to no attempt of a key';
    expect((await runAudit()).found).toEqual([
      ['reference', null, 'expected_forward_costs/of-nothing', message],
      ['reference', null, 'price_list_requests/of-nothing', 'belongs to no present or released attempt of a key'],
      ['reference', null, 'price_lists/failed', message],
      ['reference', null, 'price_lists/ready', 'is ready, but belongs to no attempt of a key'],
    ]);
  });

  test('entries and chunks of deleted documents, but not those of another application', async () => {
    await create('a');
    for (const id of ['0', 'left', 'z']) await set(`price_lists/${id}/products/p`, { price_list_price: 1 });
    await set('expected_forward_costs/left/products/p', {});
    await set('price_list_requests/left/price_list_payload/0000', {});
    await set('shop/of-another/products/p', {});
    const left = (document: string, subcollection: string) => [
      'reference',
      null,
      `${document}/${subcollection}`,
      `has documents, but ${document} does not exist`,
    ];
    expect((await runAudit()).found).toEqual([
      left('expected_forward_costs/left', 'products'),
      left('price_list_requests/left', 'price_list_payload'),
      left('price_lists/0', 'products'),
      left('price_lists/left', 'products'),
      left('price_lists/z', 'products'),
    ]);
  });

  test('no records of a key that cannot be read', async () => {
    await create('a');
    await getKey('a').update({ schema_version: 2 });
    expect((await runAudit()).found.map(([rule]) => rule)).toEqual(['key_readable']);
  });

  test('a list that its key no longer names', async () => {
    const { lists } = await create('a');
    await getKey('a').update({ 'lists.price_list_id': 'another' });
    const { found } = await runAudit();
    expect(found.filter(([rule]) => rule === 'reference')).toEqual([
      ['reference', null, `price_lists/${lists?.price_list_id}`, 'is ready, but belongs to no attempt of a key'],
    ]);
  });
});

describe('while other processes change keys, it', () => {
  /** Calls a function at the nth read of documents. */
  const atRead = (nth: number, run: () => Promise<unknown>, times = 1) =>
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth, times, action: { kind: 'call', run } });

  test('checks a key again, after a pause, as often as it has changed', async () => {
    await create('a');
    await getKey('a').update({ products_count: 8 });
    let changes = 0;
    atRead(2, () => getKey('a').update({ failed_tries: changes < 3 ? (changes += 1) : 3 }), 100);
    const { report, found } = await runAudit();
    expect(found.map(([rule]) => rule)).toContain('payload');
    expect(report).toMatchObject({ violations: found.length, keys: 1, attempts: 1 });
    expect(database.clock.slept).toEqual([500, 500]);
  });

  test('does not treat a renewal as a change of the key, and reports no expired lease after it', async () => {
    const { lists } = await create('a');
    const paths = [`expected_forward_costs/${lists?.expected_forward_cost_id}`, `price_lists/${lists?.price_list_id}`];
    for (const path of paths) await database.client.doc(path).update({ status: 'processing' });
    await updateKey(getKey('a'), { status: 'processing', response: null, lease_expires_at: 1 });
    expect((await runAudit()).found.map(([rule]) => rule)).toEqual(['lease']);
    atRead(2, () => updateKey(getKey('a'), { lease_expires_at: TEST_START + 1_000 }));
    expect((await runAudit()).found).toEqual([]);
    expect(database.clock.slept).toEqual([]);
  });

  test('reports the violations of a key whose record becomes unreadable', async () => {
    await create('a');
    await getKey('a').update({ trace_id: 'another' });
    atRead(2, () => getKey('a').update({ schema_version: 2 }));
    expect((await runAudit()).found.map(([rule]) => rule)).toEqual(['request']);
  });

  test('reports no record of a key that was claimed after the audit read the keys', async () => {
    const run = async () => {
      await create('a');
    };
    database.firestore.faults.inject({ rpc: 'RunQuery', nth: 2, action: { kind: 'call', run } });
    const { report, found } = await runAudit();
    expect(found).toEqual([]);
    expect(report).toMatchObject({ violations: 0, keys: 0, attempts: 0 });
    // It reads the request with its key, and for each list its request first. Six searches find three parents, of
    // which it reads the request once more.
    expect(report.document_reads).toBe(4 + 2 + 2 * (1 + 2) + 6 + 1);
  });

  test('reports no record of a key that is released and claimed again after the audit read the keys', async () => {
    await create('a', 'nowhere');
    const run = async () => {
      const { db, context } = database.open();
      await release(await readKey('a'), { by: 'ada', reason: 'x' }, db, context);
      await create('a');
    };
    database.firestore.faults.inject({ rpc: 'RunQuery', nth: 2, action: { kind: 'call', run } });
    expect((await runAudit()).found).toEqual([]);
  });
});
