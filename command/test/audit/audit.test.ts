import { FieldValue, Timestamp, type DocumentData } from 'firebase-admin/firestore';
import { checkAttempt, checkReleasedRequest, type AttemptDocuments } from '../../audit/attempt';
import { AttemptReader } from '../../audit/attempt-reader';
import { audit } from '../../audit/audit';
import { checkKey } from '../../audit/key-record';
import type { Rule, Violation } from '../../audit/violation';
import { release } from '../../cli/resolve';
import type { ReadableKey } from '../../records/find';
import { toKeySnapshot } from '../../../functions/src/lib/repositories/keys';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../../functions/src/lib/work-context';
import { TEST_START } from '../../../test/harness/database';
import { PRODUCTS, useFailedAttempts } from '../../../test/harness/failed-attempts';
import { seedIfEmpty } from '../../../dev/sample';
import { updateKey, writeMarket } from '../../../test/harness/price-lists';
import { writeRecords } from '../../../test/harness/stored';

/**
 * Runs the audit without the command: on records as the service stores them, and on records that a test has changed. The
 * checks of one attempt are pure, so many tests change what the audit has read rather than what is stored.
 */

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
  return { report, found: violations.map(toRow).sort(), violations };
}

const toRow = ({ rule, boq_list_id, path, message }: Violation) => [rule, boq_list_id, path, message];

/** Returns the paths and the messages of the violations of a rule. */
const findViolations = async (rule: Rule) =>
  (await runAudit()).found.filter(([each]) => each === rule).map(([, , path, message]) => [path, message]);

const set = (path: string, data: DocumentData) => database.client.doc(path).set(data);
const change = (path: string, data: DocumentData) => database.client.doc(path).update(data);

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

/**
 * Stores an attempt in a status on the key `a`. For `earlier`, the attempt is released, and then another request claims the key.
 * @returns the paths of the first attempt's records
 */
async function store(status: Status | 'earlier') {
  await STATES[status === 'earlier' ? 'released' : status]();
  const { document_id, lists } = await readKey('a');
  if (status === 'earlier') await create('a');
  const costs = `expected_forward_costs/${lists?.expected_forward_cost_id}`;
  const prices = `price_lists/${lists?.price_list_id}`;
  const request = `price_list_requests/${document_id}`;
  return { key: getKey('a').path, request, payload: `${request}/price_list_payload`, costs, prices };
}

/** Values of fields by their paths, such as `info.name`. */
type Fields = Record<string, unknown>;

/** Returns a copy of a record with the values of an update. DELETED removes a field. */
function changeFields<T extends object>(record: T, update: Fields): T {
  // A structured clone has the prototypes of another realm, so it would equal no object of the test.
  const changed = JSON.parse(JSON.stringify(record)) as T;
  for (const [path, value] of Object.entries(update)) {
    const names = path.split('.');
    const name = names.pop() ?? '';
    const parent = names.reduce<Fields>((fields, each) => fields[each] as Fields, changed as Fields);
    if (value === DELETED) Reflect.deleteProperty(parent, name);
    else parent[name] = value;
  }
  return changed;
}

/** The records of an attempt on the key `a`, with their paths. */
interface Attempt {
  paths: Awaited<ReturnType<typeof store>>;
  key: ReadableKey;
  documents: AttemptDocuments;
}

/** An attempt in each status, as the audit has read it. Its entries are counted, and not compared. */
const attempts = {} as Record<Status, Attempt>;

beforeAll(async () => {
  for (const status of Object.keys(STATES) as Status[]) {
    database.reset();
    await writeMarket(database.client);
    const paths = await store(status);
    const key = toKeySnapshot(await database.client.doc(paths.key).get()) as ReadableKey;
    attempts[status] = { paths, key, documents: await readAttempt(key, 0) };
  }
});

function readAttempt({ record }: ReadableKey, sampleSize: number, changed: Partial<WorkContext> = {}) {
  const { db, context } = database.open(changed);
  return new AttemptReader(db, context, sampleSize, () => undefined).readAttempt(record);
}

type Kind = keyof Attempt['paths'];

/** Returns the violations of an attempt of which one record is changed or deleted. */
function checkChanged(status: Status, kind: Kind, update: Fields | 'deleted') {
  const { key, documents } = attempts[status];
  const changeRecord = <T extends object>(of: Kind, record: T): T =>
    of !== kind ? record : update === 'deleted' ? (undefined as never) : changeFields(record, update);
  const { request = {}, payload, lists } = documents;
  if (lists === null) throw new Error('each of these attempts has lists');
  const { expected_forward_cost: costs, price_list: prices } = lists;
  const record = changeRecord('key', key.record);
  const violations = checkAttempt(record, {
    request: changeRecord('request', request),
    payload,
    lists: {
      expected_forward_cost: { ...costs, document: changeRecord('costs', costs.document ?? {}) },
      price_list: { ...prices, document: changeRecord('prices', prices.document ?? {}) },
    },
  });
  return [...checkKey({ ...key, record }), ...violations].map(toRow);
}

describe('the audit of records as the service stores them', () => {
  test.each(Object.keys(STATES) as Status[])('finds nothing wrong in an attempt that is %s', async (status) => {
    await store(status);
    const calls = database.recordCalls();
    expect(await runAudit()).toMatchObject({ found: [], report: { violations: 0, keys: 1, attempts: 1 } });
    const reads = new Set(['RunQuery', 'BatchGetDocuments', 'RunAggregationQuery']);
    expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(reads);
  });

  test('reads, for a key without lists, only the key record, the request record and the payload', async () => {
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
    'counts the entries of both lists, and if the sample size is %d, reads %d entries of each list',
    async (sampleSize, entries) => {
      await create('a');
      // The audit reads four pages with one document each, the request record, its chunk, two lists and two counts. To
      // find orphans it makes six queries, each of which bills one read.
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
    'was changed at 2096-10-02T07:06:40.000Z, which is in the future, so no sweep resumes or reports the key before then: resume or release it';
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
  ])(
    'under the rule %s, in the status %s with %j after %i ms, has the violation %s',
    (rule, status, update, ms, message) => {
      const { paths, key } = attempts[status];
      const { sweep_due_at: dueAt = key.sweepDueAt, ...fields } = update;
      const sweepDueAt = typeof dueAt === 'number' ? dueAt : null;
      const record = changeFields(key.record, fields);
      const violations = checkKey({ ...key, record, sweepDueAt, readAt: key.readAt + ms });
      const found = violations.filter((each) => each.rule === rule).map(({ path, message: text }) => [path, text]);
      expect(found).toEqual(message === null ? [] : [[paths.key, message]]);
    },
  );

  test.each([
    [
      'of another version',
      { schema_version: 2, boq_list_id: 'a' },
      'a',
      'cannot be read as a key record (schema_version 2)',
    ],
    ['without a valid version or key', { schema_version: '2', boq_list_id: 1 }, null, 'cannot be read as a key record'],
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
      ['key_readable', 'a', key, 'cannot be read as a key record (schema_version 1)'],
      ['request', 'b', expect.any(String), 'has wrong or missing fields: trace_id'],
    ]);
  });
});

test.each<[Status, Kind, update: Fields | 'deleted', Rule, of: Kind, message: string]>([
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
  [
    'requires_review',
    'key',
    { products_count: 10 },
    'payload',
    'payload',
    'has the wrong number of products: 11 instead of 10',
  ],
  ['completed', 'key', { response: '{' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'key', { response: '1' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'key', { response: 'null' }, 'response', 'key', 'has a response that is not a JSON object'],
  ['completed', 'costs', 'deleted', 'list_document', 'costs', 'does not exist'],
  ['completed', 'prices', 'deleted', 'list_document', 'prices', 'does not exist'],
  ['completed', 'request', { payload_chunks: 2 }, 'request', 'request', 'has wrong or missing fields: payload_chunks'],
])(
  'an attempt that is %s, and whose %s is changed to %j, breaks the rule %s',
  (status, kind, update, rule, of, message) => {
    const path = attempts[status].paths[of];
    const found = checkChanged(status, kind, update).filter((row) => row[0] === rule && row[2] === path);
    expect(found).toEqual([[rule, 'a', path, message]]);
  },
);

test.each<[update: Fields, 'request' | 'payload', message: string]>([
  [{ request_id: DELETED }, 'request', 'has wrong or missing fields: request_id'],
  [{ payload_chunks: 2 }, 'request', 'has wrong or missing fields: payload_chunks'],
  [{ market_id: 'x' }, 'request', 'has wrong or missing fields: market_id'],
  [{ 'info.name': 'x' }, 'payload', 'differs from its request record'],
  [{ key_id: DELETED }, 'request', 'has wrong or missing fields: key_id'],
  [{ products_count: 1 }, 'payload', 'differs from its request record'],
])('an earlier attempt whose request record is changed to %j breaks the rule %s', (update, rule, message) => {
  const { paths, key, documents } = attempts.released;
  const request = changeFields(documents.request ?? {}, update);
  const found = checkReleasedRequest(key.record.document_id, request, documents.payload).map(toRow);
  expect(found).toEqual([[rule, 'a', paths[rule], message]]);
});

test.each<[Status | 'earlier', Kind, update: DocumentData | 'deleted', Rule, of: Kind, message: string]>([
  [
    'completed',
    'key',
    { 'lists.price_list_id': 'x' },
    'reference',
    'prices',
    'is ready, but belongs to no attempt of a key',
  ],
  ['earlier', 'request', { payload_chunks: 0 }, 'request', 'request', 'has wrong or missing fields: payload_chunks'],
  [
    'earlier',
    'request',
    { fingerprint: 'x', payload_chunks: 0 },
    'request',
    'request',
    'has wrong or missing fields: payload_chunks',
  ],
  [
    'earlier',
    'request',
    { fingerprint: 'x' },
    'payload',
    'payload',
    'cannot be used: the payload is not the accepted one, because its fingerprint differs',
  ],
  ['earlier', 'prices', 'deleted', 'list_document', 'prices', 'does not exist'],
  ['earlier', 'prices', { status: 'ready' }, 'list_status', 'prices', 'is not failed, but its attempt is released'],
  [
    'earlier',
    'request',
    { price_list_id: '__x__' },
    'request',
    'request',
    'has wrong or missing fields: price_list_id',
  ],
  [
    'earlier',
    'request',
    { released: DELETED },
    'reference',
    'request',
    'belongs to no current or released attempt of a key',
  ],
])(
  'the audit finds that an attempt (%s) whose %s is changed to %j breaks the rule %s',
  async (status, kind, update, rule, of, message) => {
    const paths = await store(status);
    if (update === 'deleted') await database.client.doc(paths[kind]).delete();
    else await change(paths[kind], update);
    const found = await findViolations(rule);
    expect(found.filter(([path]) => path === paths[of])).toEqual([[paths[of], message]]);
  },
);

describe('a request record', () => {
  test('with a different or missing value in a compared field is reported with the name of that field', () => {
    const { paths, documents } = attempts.completed;
    const expectNames = (update: Fields, names: string) =>
      expect(checkChanged('completed', 'request', update)).toEqual([
        ['request', 'a', paths.request, `has wrong or missing fields: ${names}`],
      ]);
    for (const name of Object.keys(documents.request ?? {})) {
      // Any non-empty text can be the id of a request.
      if (name !== 'request_id') expectNames({ [name]: 'another' }, name);
      expectNames({ [name]: DELETED }, name);
    }
    expectNames({ products_count: 3, market_id: 'other', released: {} }, 'products_count, market_id, released');
    expect(checkChanged('completed', 'request', { request_id: 'another' })).toEqual([]);
  });

  test('of a released attempt must say when, why and by whom it was released', () => {
    const expected = ['request', 'a', attempts.released.paths.request, 'has wrong or missing fields: released'];
    for (const field of ['at', 'failure', 'failure_cause', 'actions'])
      expect(checkChanged('released', 'request', { [`released.${field}`]: 'x' })).toEqual([expected]);
  });
});

describe('a payload', () => {
  test.each<[Status, isMarked: boolean, isAllowed: boolean]>([
    ['processing', true, false],
    ['requires_review', true, false],
    ['completed', false, false],
    ['completed', true, true],
    ['released', true, true],
  ])('of a %s attempt (expiry set: %j) can be missing: %j', async (status, isMarked, isAllowed) => {
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
    ['has another order', (response) => Object.fromEntries(Object.entries(response).reverse()), 'order or format'],
  ])('that %s is a violation', (_, damage, names) => {
    const { paths, key } = attempts.completed;
    const response = JSON.stringify(damage(JSON.parse(String(key.record.response)) as object));
    const message = `has a response that does not follow from its other fields: ${names}`;
    expect(checkChanged('completed', 'key', { response })).toEqual([['response', 'a', paths.key, message]]);
  });
});

describe.each(['costs', 'prices'] as const)('a list of %s', (list) => {
  const expectViolation = (status: Status, update: Fields, rule: Rule, message: string) =>
    expect(checkChanged(status, list, update)).toEqual([[rule, 'a', attempts[status].paths[list], message]]);

  test('whose fields differ from those of its attempt is reported once, with the names of these fields and a count of unexpected ones', () => {
    const expectNames = (data: Fields, names: string) =>
      expectViolation('completed', data, 'list_document', `differs from its attempt: ${names}`);
    for (const name of ['created_at', 'updated_at', 'currency', 'market_id', 'market_iso', 'name'])
      expectNames({ [name]: 'x' }, name);
    expectNames({ new_date: { year: 2026, month: 7 } }, 'new_date');
    expectNames({ name: DELETED, more: 1, others: 2 }, 'name, unexpected fields: 2');
  });

  test.each<[Status, string]>([
    ['processing', 'processing'],
    ['completed', 'ready'],
    ['requires_review', 'failed'],
    ['released', 'failed'],
  ])('of an attempt that is %s must be %s', (status, allowed) => {
    for (const found of ['processing', 'ready', 'failed'].filter((each) => each !== allowed))
      expectViolation(status, { status: found }, 'list_status', `is ${found}, but its attempt is ${status}`);
  });

  test('must have a valid status', () => {
    const message = 'has no valid status, but its attempt is completed';
    for (const status of [1, 'two words', 'x'.repeat(21), DELETED])
      expectViolation('completed', { status }, 'list_status', message);
  });
});

describe('the entries of a list', () => {
  const PRICE = { price_list_price: 1 };

  const DIFFERENT = 'has entries that differ from the payload: 1';

  test.each([
    ['another price', { price_list_price: 17 }],
    ['a price of another type', { price_list_price: '3.25' }],
    ['another field', { secret: 1 }],
  ])('with %s are reported', async (_, fields) => {
    const { prices } = await store('completed');
    const path = `${prices}/products`;
    await change(`${path}/product-3`, fields);
    expect((await runAudit()).found).toEqual([['entry_values', 'a', path, DIFFERENT]]);
  });

  test('that differ from the payload are reported by a sample that includes them, and by no other', async () => {
    const paths = await store('completed');
    await change(`${paths.prices}/products/product-3`, { price_list_price: 17 });
    const key = toKeySnapshot(await database.client.doc(paths.key).get()) as ReadableKey;
    const check = async (sampleSize: number, random = Math.random) =>
      checkAttempt(key.record, await readAttempt(key, sampleSize, { random })).map(({ message }) => message);
    const samples = [];
    for (let i = 0; i < PRODUCTS; i += 1) samples.push(...(await check(1, () => (i + 0.5) / PRODUCTS)));
    expect(samples).toEqual([DIFFERENT]);
    expect(await check(PRODUCTS)).toEqual([DIFFERENT]);
    expect(await check(0)).toEqual([]);
  });

  test('that are missing or extra are reported with up to three examples', async () => {
    const { costs } = await store('completed');
    const path = `${costs}/products`;
    for (let i = 0; i < PRODUCTS; i += 1) await database.client.doc(`${path}/product-${i}`).delete();
    await set(`${path}/extra`, {});
    expect((await runAudit()).violations).toMatchObject([
      { rule: 'entry_count', path, message: `has the wrong number of entries: 1 instead of ${PRODUCTS}` },
      {
        rule: 'entry_values',
        message: `has products without an entry: ${PRODUCTS}`,
        products: ['product-0', 'product-1', 'product-10'],
      },
      { rule: 'entry_values', message: 'has entries that are not in the payload: 1', products: ['extra'] },
    ]);
    let turn = 0;
    const random = () => (turn++ % PRODUCTS) / PRODUCTS;
    const { violations } = await runAudit(2, { random });
    expect(violations.map(({ message }) => message)).toContain('has products without an entry: 2');
  });

  test('of an attempt whose key requires review can be missing, but not outnumber its products', async () => {
    const { prices } = await store('requires_review');
    const path = `${prices}/products`;
    for (let i = 0; i < PRODUCTS; i += 1) await set(`${path}/product-${i}`, { price_list_price: i + 0.25 });
    await database.client.doc(`${path}/product-3`).delete();
    expect((await runAudit()).found).toEqual([]);
    for (const id of ['x', 'y']) await set(`${path}/${id}`, PRICE);
    expect((await runAudit()).found).toEqual([
      ['entry_count', 'a', path, `has the wrong number of entries: ${PRODUCTS + 1} instead of ${PRODUCTS}`],
      ['entry_values', 'a', path, 'has entries that are not in the payload: 2'],
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

  test('is reported if its parent document does not exist, and ignored in a collection of another application', async () => {
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
  /** Calls a function at `times` reads of documents, from the nth on. */
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
    // and its key again. Then it searches each of three collections for parents of subcollections: one search finds a
    // parent, and another the end. It reads only the request again, because it has already read the lists.
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
