import { FieldValue, Timestamp, type DocumentData } from 'firebase-admin/firestore';
import { audit } from '../../audit/audit';
import type { Rule, Violation } from '../../audit/violation';
import { release } from '../../cli/resolve';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../../functions/src/lib/work-context';
import { TEST_START } from '../../../test/harness/database';
import { PRODUCTS, useFailedAttempts } from '../../../test/harness/failed-attempts';
import { seedIfEmpty } from '../../../dev/sample';
import { updateKey } from '../../../test/harness/price-lists';
import { writeRecords } from '../../../test/harness/stored';

/** Runs the audit without the command: on records as the service stores them, and on records that a test has changed. */

const { database, create, getKey, readKey, fail, crash, deletePayload } = useFailedAttempts();

const MINUTE = 60_000;
const LEASE_MS = 40_000;
const DELETED = FieldValue.delete();

/** Returns the document reads of an audit of keys whose lists have at most 1,000 products. @param entries compared entries of each list */
const getAuditReads = (keys: number, entries: number): number => keys * (13 + 2 * entries) + 3;

async function runAudit(sampleSize = Infinity, changed: Partial<WorkContext> = {}) {
  const { db, context } = database.open(changed);
  const violations: Violation[] = [];
  const report = await audit(db, context, sampleSize, (violation) => violations.push(violation));
  const found = violations.map(({ rule, boq_list_id, path, message }) => [rule, boq_list_id, path, message]);
  return { report, found: found.sort(), violations };
}

/** Returns the paths and the messages of the violations of a rule. */
const findViolations = async (rule: Rule, sampleSize?: number) =>
  (await runAudit(sampleSize)).found.filter(([each]) => each === rule).map(([, , path, message]) => [path, message]);

const set = (path: string, data: DocumentData) => database.client.doc(path).set(data);
const change = (path: string, data: DocumentData) => database.client.doc(path).update(data);

/** Changes a record, expects the audit to find only this violation, and restores the record. */
async function expectChanged(path: string, data: DocumentData, rule: Rule, message: string): Promise<void> {
  const stored = (await database.client.doc(path).get()).data() ?? {};
  await change(path, data);
  expect(await runAudit(0)).toMatchObject({ found: [[rule, 'a', path, message]] });
  await set(path, stored);
}

async function runRelease(key: string): Promise<void> {
  const { db } = database.open();
  await release(await readKey(key), { by: 'ada', reason: 'x' }, db);
}

type Status = KeyRecord['status'];

/** Functions that store the key `a` with an attempt in one status. */
const STATES = {
  processing: () => crash('a'),
  requires_review: () => fail('a'),
  completed: () => create('a'),
  released: async () => {
    await fail('a');
    await runRelease('a');
  },
} satisfies Record<Status, () => Promise<unknown>>;

/** Stores an attempt in a status on the key `a`. For `earlier`, the attempt is then released, and another attempt claims the key. @returns the paths of its records */
async function store(status: Status | 'earlier') {
  await STATES[status === 'earlier' ? 'released' : status]();
  const { document_id, lists } = await readKey('a');
  if (status === 'earlier') await create('a');
  const costs = `expected_forward_costs/${lists?.expected_forward_cost_id}`;
  const prices = `price_lists/${lists?.price_list_id}`;
  const request = `price_list_requests/${document_id}`;
  return { key: getKey('a').path, request, payload: `${request}/price_list_payload`, costs, prices };
}

describe('the audit of records as the service stores them', () => {
  test.each(Object.keys(STATES) as Status[])('finds nothing wrong in an attempt that is %s', async (status) => {
    await store(status);
    const calls = database.recordCalls();
    expect(await runAudit()).toMatchObject({ found: [], report: { violations: 0, keys: 1, attempts: 1 } });
    const reads = new Set(['RunQuery', 'BatchGetDocuments', 'RunAggregationQuery']);
    expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(reads);
  });

  test('reads only the request record and the payload of a key without lists', async () => {
    await create('a', { market_id: 'nowhere' });
    const document_reads = 1 + 2 + 1 + 1 + 1 + 4;
    expect((await runAudit()).report).toMatchObject({ violations: 0, keys: 1, attempts: 1, document_reads });
  });

  test('finds nothing wrong in the sample data of npm start', async () => {
    database.reset();
    expect(await seedIfEmpty(database.client)).toBeGreaterThan(0);
    expect((await runAudit()).found).toEqual([]);
  });

  test('counts a released attempt of a key that was claimed again', async () => {
    await store('earlier');
    expect((await runAudit()).report).toMatchObject({ violations: 0, keys: 1, attempts: 2 });
  });

  test.each([
    [0, 0],
    [3, 3],
    [PRODUCTS + 1, PRODUCTS],
    [Infinity, PRODUCTS],
  ])(
    'counts the entries of both lists, and with a sample of %d reads %d entries of each list',
    async (sampleSize, entries) => {
      await create('a');
      // The audit reads four pages with one document each, the request record, its chunk, two lists and two counts. To
      // find orphans, three queries return one document each, and three find nothing.
      const document_reads = getAuditReads(1, entries);
      expect((await runAudit(sampleSize, { random: Math.random })).report).toMatchObject({
        violations: 0,
        document_reads,
      });
    },
  );

  test('reads the keys in pages of 100', async () => {
    const records = Array.from({ length: 300 }, (_, i) => [`${i}`, {}] as const);
    await writeRecords(database.client, 'price_list_idempotency', Object.fromEntries(records));
    const calls = database.recordCalls();
    const { report, found } = await runAudit();
    expect(report).toMatchObject({ violations: 300, keys: 300, attempts: 0, document_reads: 300 + 4 + 3 });
    expect([new Set(found.map(([, , path]) => path)).size, calls.length]).toEqual([300, 4 + 3 + 3]);
  });

  test('repeats calls that failed for a transient cause', async () => {
    for (const key of ['a', 'b', 'c']) await create(key);
    const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
    for (const rpc of ['RunQuery', 'BatchGetDocuments', 'RunAggregationQuery'] as const)
      database.firestore.faults.inject({ rpc, nth: 2, times: 2, action });
    const document_reads = getAuditReads(3, PRODUCTS);
    expect((await runAudit()).report).toMatchObject({ violations: 0, keys: 3, attempts: 3, document_reads });
  });
});

describe('a key record', () => {
  const DUE = 'has 2026-06-01T00:00:00.000Z in sweep_due_at, but must have ';
  const AT_LEASE_END = 'in sweep_due_at, but must have 2026-06-01T00:00:40.000Z';
  const OVERDUE = 'has been due for 60 min, and no sweep has resumed or reported it';
  const FUTURE =
    'was changed at 2096-10-02T07:06:40.000Z, which is in the future, so no sweep resumes the key before then: resume or release it';
  const EXPIRED = 'is processing, but its lease expired 5 min ago, and no sweep has resumed it';
  const LONG = 'has a lease until 2026-06-01T00:00:40.001Z, longer than any instance grants';

  test.each<[Rule, Status, update: DocumentData, laterMs: number, message: string | null]>([
    ['key_record', 'processing', { owner: '' }, 0, 'is processing without an owner'],
    ['key_record', 'requires_review', { owner: '' }, 0, null],
    ['key_record', 'released', { actions: [] }, 0, 'is released, but its last action is not a release'],
    ['sweep_due_at', 'completed', { sweep_due_at: TEST_START }, 0, `${DUE}none`],
    ['sweep_due_at', 'processing', { sweep_due_at: TEST_START }, 0, `${DUE}2026-06-01T00:00:40.000Z`],
    ['sweep_due_at', 'processing', { sweep_due_at: 9e15 }, 0, `has 9000000000000000 ${AT_LEASE_END}`],
    ['sweep_due_at', 'processing', { sweep_due_at: DELETED }, 0, `has no time ${AT_LEASE_END}`],
    // Once the sweep has reported the key, the key is no longer due.
    ['sweep_due_at', 'requires_review', { sweep_due_at: DELETED }, 60 * MINUTE, null],
    ['sweep_due_at', 'requires_review', { updated_at: TEST_START + 1 }, 1, `${DUE}2026-06-01T00:00:00.001Z`],
    ['sweep_due_at', 'requires_review', {}, 60 * MINUTE - 1, null],
    ['sweep_due_at', 'requires_review', {}, 60 * MINUTE, OVERDUE],
    ['sweep_due_at', 'requires_review', { updated_at: 4e12, sweep_due_at: 4e12 }, 0, FUTURE],
    ['sweep_due_at', 'processing', {}, 120 * MINUTE, null],
    ['lease', 'processing', {}, LEASE_MS + 5 * MINUTE - 1, null],
    ['lease', 'processing', {}, LEASE_MS + 5 * MINUTE, EXPIRED],
    ['lease', 'requires_review', {}, 60 * MINUTE, null],
    ['lease', 'processing', { lease_expires_at: TEST_START + LEASE_MS + 1 }, 0, LONG],
  ])('under the rule %s: %s with %j after %i ms has the violation %s', async (rule, status, update, ms, message) => {
    const { key } = await store(status);
    await database.client.doc(key).set(update, { merge: true });
    database.clock.advance(ms);
    expect(await findViolations(rule)).toEqual(message === null ? [] : [[key, message]]);
  });

  test.each([
    [
      'of another version',
      { schema_version: 2, boq_list_id: 'a' },
      'a',
      'is not a valid key record of schema version 2',
    ],
    ['without a version or a key', { schema_version: '2', boq_list_id: 1 }, null, 'is not a valid key record'],
  ])('%s cannot be read', async (_, fields, key, message) => {
    await set('price_list_idempotency/unknown', fields);
    const { report, found } = await runAudit();
    expect(report).toMatchObject({ keys: 1, attempts: 0, violations: 1 });
    expect(found).toEqual([['key_readable', key, 'price_list_idempotency/unknown', message]]);
  });

  test('that cannot be read is the only violation of its attempt, and does not stop the audit', async () => {
    const { key } = await store('completed');
    await change(key, { 'lists.price_list_id': '__x__' });
    await create('b');
    await updateKey(getKey('b'), { trace_id: 'another' });
    expect((await runAudit()).found).toEqual([
      ['key_readable', 'a', key, 'is not a valid key record of schema version 1'],
      ['request', 'b', expect.any(String), 'differs from its attempt: trace_id'],
    ]);
  });
});

type Kind = keyof Awaited<ReturnType<typeof store>>;

test.each<[Status | 'earlier', Kind, update: DocumentData | 'deleted', Rule, of: Kind, message: string]>([
  ['completed', 'request', 'deleted', 'request', 'request', 'does not exist'],
  ['requires_review', 'key', { market_id: 'other' }, 'payload', 'payload', 'differs from its attempt: market_id'],
  [
    'requires_review',
    'key',
    { name: 'x', date: '07/2026' },
    'payload',
    'payload',
    'differs from its attempt: name, date',
  ],
  ['requires_review', 'key', { products_count: 10 }, 'payload', 'payload', 'has 11 products, but its attempt has 10'],
  ['completed', 'key', { response: '{' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'key', { response: '1' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'key', { response: 'null' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'costs', 'deleted', 'list_document', 'costs', 'does not exist'],
  ['completed', 'prices', 'deleted', 'list_document', 'prices', 'does not exist'],
  [
    'completed',
    'key',
    { 'lists.price_list_id': 'x' },
    'reference',
    'prices',
    'is ready, but belongs to no attempt of a key',
  ],
  ['earlier', 'request', { request_id: DELETED }, 'request', 'request', 'differs from its attempt: request_id'],
  ['completed', 'request', { payload_chunks: 2 }, 'request', 'request', 'differs from its attempt: payload_chunks'],
  ['earlier', 'request', { payload_chunks: 2 }, 'request', 'request', 'differs from its attempt: payload_chunks'],
  ['earlier', 'request', { payload_chunks: 0 }, 'request', 'request', 'differs from its attempt: payload_chunks'],
  [
    'earlier',
    'request',
    { fingerprint: 'x', payload_chunks: 0 },
    'request',
    'request',
    'differs from its attempt: payload_chunks',
  ],
  ['earlier', 'request', { market_id: 'x' }, 'request', 'request', 'differs from its attempt: market_id'],
  ['earlier', 'request', { 'info.name': 'x' }, 'payload', 'payload', 'differs from its request record'],
  ['earlier', 'request', { key_id: DELETED }, 'request', 'request', 'differs from its attempt: key_id'],
  [
    'earlier',
    'request',
    { fingerprint: 'x' },
    'payload',
    'payload',
    'cannot be used: the payload is not the accepted one, because its fingerprint differs',
  ],
  ['earlier', 'request', { products_count: 1 }, 'payload', 'payload', 'differs from its request record'],
  ['earlier', 'prices', 'deleted', 'list_document', 'prices', 'does not exist'],
  ['earlier', 'prices', { status: 'ready' }, 'list_status', 'prices', 'is not failed, but its attempt is released'],
  ['earlier', 'request', { price_list_id: '__x__' }, 'request', 'request', 'differs from its attempt: price_list_id'],
  [
    'earlier',
    'request',
    { released: DELETED },
    'reference',
    'request',
    'belongs to no current or released attempt of a key',
  ],
])(
  'an attempt that is %s, and whose %s is changed to %j, breaks the rule %s',
  async (status, kind, update, rule, of, message) => {
    const paths = await store(status);
    if (update === 'deleted') await database.client.doc(paths[kind]).delete();
    else await change(paths[kind], update);
    const found = await findViolations(rule);
    expect(found.filter(([path]) => path === paths[of])).toEqual([[paths[of], message]]);
  },
);

describe('a request record', () => {
  test('with a different or missing value in a compared field is reported with the name of that field', async () => {
    const { request } = await store('completed');
    const stored = (await database.client.doc(request).get()).data() ?? {};
    for (const name of Object.keys(stored)) {
      for (const value of ['another', DELETED]) {
        await change(request, { [name]: value });
        // Any text can be the id of a request.
        const isValid = name === 'request_id' && value !== DELETED;
        const expected = isValid ? [] : [[request, `differs from its attempt: ${name}`]];
        expect(await findViolations('request', 0)).toEqual(expected);
        await set(request, stored);
      }
    }
    await change(request, { products_count: 3, market_id: 'other', released: {} });
    const message = 'differs from its attempt: products_count, market_id, released';
    expect(await findViolations('request')).toEqual([[request, message]]);
  });

  test('of a released attempt must say when, why and by whom it was released', async () => {
    const { request } = await store('released');
    for (const field of ['at', 'failure', 'failure_cause', 'actions'])
      await expectChanged(request, { [`released.${field}`]: 'x' }, 'request', 'differs from its attempt: released');
  });
});

describe('a payload', () => {
  test.each<[Status, isMarked: boolean, isAllowed: boolean]>([
    ['processing', true, false],
    ['requires_review', true, false],
    ['completed', false, false],
    ['completed', true, true],
    ['released', true, true],
  ])('of a %s attempt, if its expiry is set (%j), can be missing: %j', async (status, isMarked, isAllowed) => {
    const { request, payload } = await store(status);
    // docs/data-model.md#retention describes both fields.
    if (isMarked) {
      await change(request, { payload_expires_at: TEST_START });
      await change(`${payload}/0000`, { expire_at: Timestamp.fromMillis(TEST_START) });
    }
    expect((await runAudit()).found).toEqual([]);
    await deletePayload(await readKey('a'));
    const { found, report } = await runAudit();
    expect(report).toMatchObject({ attempts: 1, not_compared: 1 });
    expect(found).toEqual(isAllowed ? [] : [['payload', 'a', payload, 'cannot be used: payload chunks are missing']]);
    // The last 1 is for the key record, which the audit reads again before it reports the violation.
    if (status === 'completed' && !isMarked) expect(report.document_reads).toBe(4 + 4 + 2 + 5 + 1);
  });

  test('of another key is a violation', async () => {
    const { key, payload } = await store('requires_review');
    const other = await fail('b');
    const path = `price_list_requests/${other.document_id}/price_list_payload/0000`;
    await set(`${payload}/0000`, (await database.client.doc(path).get()).data() ?? {});
    await change(key, { fingerprint: other.fingerprint });
    expect(await findViolations('payload')).toEqual([[payload, 'differs from its attempt: boq_list_id']]);
  });
});

describe('a response', () => {
  test.each<[string, (response: object) => object, string]>([
    ['has another message', (response) => ({ ...response, message: 'another' }), 'message'],
    ['shows another count', (response) => ({ ...response, products_count: 3 }), 'products_count'],
    ['has an extra field', (response) => ({ ...response, more: 1 }), 'more'],
    ['lacks a field', (response) => ({ ...response, document_id: undefined }), 'document_id'],
    ['differs twice', (response) => ({ ...response, success: false, market: null }), 'success, market'],
    ['has another order', (response) => Object.fromEntries(Object.entries(response).reverse()), 'its bytes'],
  ])('that %s is a violation', async (_, damage, names) => {
    const { key } = await store('completed');
    const response = JSON.parse(String((await readKey('a')).response)) as object;
    await change(key, { response: JSON.stringify(damage(response)) });
    const message = `has a response that differs from its records: ${names}`;
    expect((await runAudit()).found).toEqual([['response', 'a', key, message]]);
  });
});

describe.each(['costs', 'prices'] as const)('a list of %s', (list) => {
  test('whose fields differ from those of its attempt is reported once, with their names', async () => {
    const { [list]: path } = await store('completed');
    const expectNames = (data: DocumentData, names: string) =>
      expectChanged(path, data, 'list_document', `differs from its attempt: ${names}`);
    for (const name of ['created_at', 'updated_at', 'currency', 'market_id', 'market_iso', 'name'])
      await expectNames({ [name]: 'x' }, name);
    await expectNames({ new_date: { year: 2026, month: 7 } }, 'new_date');
    await expectNames({ name: DELETED, more: 1, others: 2 }, 'name, 2 other fields');
  });

  test.each<[Status, string]>([
    ['processing', 'processing'],
    ['completed', 'ready'],
    ['requires_review', 'failed'],
    ['released', 'failed'],
  ])('of an attempt that is %s must be %s', async (status, allowed) => {
    const { [list]: path } = await store(status);
    for (const found of ['processing', 'ready', 'failed'].filter((each) => each !== allowed))
      await expectChanged(path, { status: found }, 'list_status', `is ${found}, but its attempt is ${status}`);
  });

  test('must have a valid status', async () => {
    const { [list]: path } = await store('completed');
    for (const found of [1, 'two words', 'x'.repeat(21), DELETED])
      await expectChanged(path, { status: found }, 'list_status', 'has no valid status, but its attempt is completed');
  });
});

describe('the entries of a list', () => {
  const PRICE = { price_list_price: 1 };

  test.each([
    ['another price', { price_list_price: 17 }],
    ['a price of another type', { price_list_price: '3.25' }],
    ['another field', { secret: 1 }],
  ])(
    'with %s are reported, whether the audit compares all entries or a sample that includes them',
    async (_, fields) => {
      const { prices } = await store('completed');
      const path = `${prices}/products`;
      await change(`${path}/product-3`, fields);
      const expected = [['entry_values', 'a', path, 'has 1 entries that differ from the payload']];
      expect((await runAudit()).found).toEqual(expected);
      expect((await runAudit(PRODUCTS)).found).toEqual(expected);
      const samples = [];
      for (let i = 0; i < PRODUCTS; i += 1)
        samples.push((await runAudit(1, { random: () => (i + 0.5) / PRODUCTS })).found);
      expect(samples.filter(({ length }) => length > 0)).toEqual([expected]);
      expect((await runAudit(0)).found).toEqual([]);
    },
  );

  test('that are missing or extra are reported with up to three examples', async () => {
    const { costs } = await store('completed');
    const path = `${costs}/products`;
    for (let i = 0; i < PRODUCTS; i += 1) await database.client.doc(`${path}/product-${i}`).delete();
    await set(`${path}/extra`, {});
    expect((await runAudit()).violations).toMatchObject([
      { rule: 'entry_count', path, message: `has 1 entries for ${PRODUCTS} products` },
      {
        rule: 'entry_values',
        message: `has ${PRODUCTS} products without an entry`,
        products: ['product-0', 'product-1', 'product-10'],
      },
      { rule: 'entry_values', message: 'has 1 entries that are not in the payload', products: ['extra'] },
    ]);
    let turn = 0;
    const random = () => (turn++ % PRODUCTS) / PRODUCTS;
    const { violations } = await runAudit(2, { random });
    expect(violations.map(({ message }) => message)).toContain('has 2 products without an entry');
  });

  test('of an attempt in review can be missing, but not outnumber its products', async () => {
    const { prices } = await store('requires_review');
    const path = `${prices}/products`;
    for (let i = 0; i < PRODUCTS; i += 1) await set(`${path}/product-${i}`, { price_list_price: i + 0.25 });
    await database.client.doc(`${path}/product-3`).delete();
    expect((await runAudit()).found).toEqual([]);
    for (const id of ['x', 'y']) await set(`${path}/${id}`, PRICE);
    expect((await runAudit()).found).toEqual([
      ['entry_count', 'a', path, `has ${PRODUCTS + 1} entries for ${PRODUCTS} products`],
      ['entry_values', 'a', path, 'has 2 entries that are not in the payload'],
    ]);
  });
});

describe('a record that belongs to no attempt', () => {
  const NONE = 'belongs to no attempt of a key';

  test('is a violation, and the message says if the record is a list that is ready', async () => {
    await set('price_lists/ready', { status: 'ready' });
    await set('price_lists/failed', { status: 'failed' });
    await set('expected_forward_costs/of-nothing', {});
    await set('price_list_requests/of-nothing', { info: { boq_list_id: 'unknown' } });
    expect((await runAudit()).found).toEqual([
      ['reference', null, 'expected_forward_costs/of-nothing', NONE],
      ['reference', null, 'price_list_requests/of-nothing', 'belongs to no current or released attempt of a key'],
      ['reference', null, 'price_lists/failed', NONE],
      ['reference', null, 'price_lists/ready', `is ready, but ${NONE}`],
    ]);
  });

  test('is reported below a deleted document, and ignored in a collection of another application', async () => {
    await create('a');
    for (const id of ['0', 'left', 'z']) await set(`price_lists/${id}/products/p`, { price_list_price: 1 });
    await set('expected_forward_costs/left/products/p', {});
    await set('price_list_requests/left/price_list_payload/0000', {});
    await set('shop/of-another/products/p', {});
    const toViolation = (document: string, below = 'products') => [
      `${document}/${below}`,
      `has documents, but ${document} does not exist`,
    ];
    expect(await findViolations('reference')).toEqual([
      toViolation('expected_forward_costs/left'),
      toViolation('price_list_requests/left', 'price_list_payload'),
      toViolation('price_lists/0'),
      toViolation('price_lists/left'),
      toViolation('price_lists/z'),
    ]);
  });
});

describe('while other processes change keys, the audit', () => {
  /** Calls a function at the nth read of documents. */
  const atRead = (nth: number, run: () => Promise<unknown>, times = 1) =>
    database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth, times, action: { kind: 'call', run } });

  const afterKeys = (run: () => Promise<unknown>) =>
    database.firestore.faults.inject({ rpc: 'RunQuery', nth: 2, action: { kind: 'call', run } });

  test('checks a key with a violation again, after a pause, until the key stays the same', async () => {
    const { key } = await store('completed');
    await change(key, { products_count: 8 });
    let changes = 0;
    atRead(2, () => change(key, { failed_tries: changes < 3 ? (changes += 1) : 3 }), 100);
    const { report, found } = await runAudit();
    expect(found.map(([rule]) => rule)).toContain('payload');
    expect(report).toMatchObject({ violations: found.length, keys: 1, attempts: 1 });
    expect(database.clock.slept).toEqual([500, 500]);
  });

  test('does not treat a renewal as a change of the key, and reports no expired lease after the renewal', async () => {
    await store('processing');
    database.clock.advance(60 * MINUTE);
    expect(await runAudit()).toMatchObject({ violations: [{ rule: 'lease' }] });
    atRead(2, () => updateKey(getKey('a'), { lease_expires_at: database.clock.now() + 1_000 }));
    expect((await runAudit()).found).toEqual([]);
    expect(database.clock.slept).toEqual([]);
  });

  test('does not report a due time that is corrected during the audit', async () => {
    const { key } = await store('completed');
    await change(key, { sweep_due_at: TEST_START });
    atRead(2, () => change(key, { sweep_due_at: DELETED }));
    expect((await runAudit()).found).toEqual([]);
  });

  test('reports the violations of a key whose record becomes unreadable', async () => {
    const { key, request } = await store('completed');
    await change(request, { trace_id: 'another' });
    atRead(2, () => change(key, { schema_version: 2 }));
    expect(await runAudit()).toMatchObject({ violations: [{ rule: 'request' }] });
  });

  test('reports no record of a key that was claimed after the audit read the keys', async () => {
    afterKeys(() => create('a'));
    const { report, found } = await runAudit();
    expect(found).toEqual([]);
    expect(report).toMatchObject({ violations: 0, keys: 0, attempts: 0 });
    // The audit reads four pages, and a request with its key. For each list, it finds the request, and reads the request
    // and its key again. Of the three parents that six searches find, it reads only the request once more.
    expect(report.document_reads).toBe(4 + 2 + 2 * (1 + 2) + 6 + 1);
  });

  test('reports no record of a key that is released and claimed again after the audit read the keys', async () => {
    await create('a', { market_id: 'nowhere' });
    afterKeys(async () => {
      await runRelease('a');
      await create('a');
    });
    expect((await runAudit()).found).toEqual([]);
  });
});
