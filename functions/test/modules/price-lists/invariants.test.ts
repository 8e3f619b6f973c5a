import { keyDocumentId } from '../../../src/lib/repositories/price-lists';
import type { PriceListInfo } from '../../../src/lib/schemas/add-price-lists';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { compareEntries } from '../../../audit/entry-differences';
import {
  checkAttempt,
  checkKeyRecord,
  checkListStatus,
  checkOverdue,
  checkSweepDueAt,
  checkTimes,
  getAttemptsOfKey,
  type AttemptDocuments,
  type StoredList,
  type Violation,
} from '../../../audit/invariants';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { createListDocuments, createSuccessResponse } from '../../../src/price-lists/stored-documents';
import type { StoredPayload } from '../../../src/price-lists/payload';
import { createKeyRecord, TEST_LISTS } from '../../support/key-records';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

const NOW = 1_000_000;
const submission = parseSubmission(createPriceListBody(2));
const info: PriceListInfo = submission.info;

const NO_DIFFERENCES = { missing: [], different: [], extra: [] };

/** Creates a completed attempt with its lists, without any violation. */
function createCompleted(): { record: KeyRecord; stored: AttemptDocuments } {
  const attempt = createKeyRecord({ products_count: 2, lists: TEST_LISTS, claimed_at: 5, payload_chunks: 12 });
  const record = createKeyRecord({
    ...attempt,
    status: 'completed',
    updated_at: NOW,
    response: createSuccessResponse(attempt, info, NOW),
  });
  const lists = createListDocuments(attempt, TEST_LISTS, info, 'ready', NOW);
  const toList = (document: object): StoredList => ({
    document: { ...document },
    entryCount: 2,
    entries: structuredClone(NO_DIFFERENCES),
  });
  const stored: AttemptDocuments = {
    request: {
      schema_version: 1,
      payload_encoding: 'gzip',
      trace_id: null,
      products_count: 2,
      fingerprint: 'fingerprint',
      market_id: 'market-1',
      expected_forward_cost_id: 'cost-list',
      price_list_id: 'price-list',
      created_at: 5,
      payload_chunks: 12,
      key_id: 'api-key-1',
      market_found: true,
      currency_differs: true,
      info,
      request_id: 'not compared',
    },
    payload: { kind: 'valid', submission },
    lists: { expected_forward_cost: toList(lists.expected_forward_cost), price_list: toList(lists.price_list) },
  };
  return { record, stored };
}

/** Creates the completed attempt, and changes the status of its key and of its lists, and fields of its key record. */
function createIn(status: KeyRecord['status'], listStatus: string, fields: Partial<KeyRecord> = {}) {
  const { record, stored } = createCompleted();
  for (const list of Object.values(stored.lists ?? {})) Object.assign(list.document ?? {}, { status: listStatus });
  const response = status === 'completed' ? record.response : null;
  return { record: { ...record, status, response, ...fields }, stored };
}

const check = ({ record, stored }: { record: KeyRecord; stored: AttemptDocuments }): Violation[] =>
  getAttemptsOfKey(record).flatMap((recorded) => checkAttempt(recorded, stored));

const KEY_PATH = `price_list_idempotency/${keyDocumentId('boq-1')}`;
const REQUEST_PATH = 'price_list_requests/document';
const PAYLOAD_PATH = `${REQUEST_PATH}/price_list_payload`;

const violation = (rule: Violation['rule'], path: string, message: string, products?: string[]): Violation => ({
  rule,
  boq_list_id: 'boq-1',
  path,
  message,
  ...(products && { products }),
});

describe('a key record', () => {
  const id = keyDocumentId('boq-1');
  const { record } = createCompleted();

  test.each<[string, Partial<KeyRecord>, string, Violation[]]>([
    ['that is completed', {}, id, []],
    ['that is in progress', { status: 'processing', response: null }, id, []],
    [
      'under the id of another key',
      {},
      'elsewhere',
      [violation('key_id', 'price_list_idempotency/elsewhere', 'is stored under the hash of another key')],
    ],
    [
      'without a response',
      { response: null },
      id,
      [violation('response', KEY_PATH, 'is completed without a response')],
    ],
    [
      'that requires review with a response',
      { status: 'requires_review', failure: 'x', failure_cause: 'error' },
      id,
      [violation('response', KEY_PATH, 'is requires_review with a response')],
    ],
    [
      'with the response of a completion without lists',
      { status: 'released', lists: null, actions: [{ action: 'release', at: 1, by: 'ada', reason: 'x' }] },
      id,
      [],
    ],
  ])('%s', (_, fields, documentId, expected) => {
    expect(checkKeyRecord({ ...record, ...fields }, documentId)).toEqual(expected);
  });
});

test.each<[string, Partial<KeyRecord>, unknown, string | null]>([
  ['an attempt in progress is due with its lease', {}, 70, null],
  ['a wrong time', {}, 71, 'has sweep_due_at 71, but it must be 70'],
  ['a text instead of a time', {}, '70', 'has sweep_due_at none, but it must be 70'],
  ['a key that needs no sweep', { status: 'completed' }, undefined, null],
  ['a key that needs an operator, before that is reported', { status: 'requires_review', updated_at: 70 }, 70, null],
  ['a key that needs an operator, after that is reported', { status: 'requires_review' }, undefined, null],
  [
    'a key that needs an operator, with a time before its failure',
    { status: 'requires_review', updated_at: 100 },
    70,
    'has sweep_due_at 70, but it must be 100',
  ],
  ['a time that it should not have', { status: 'completed' }, 70, 'has sweep_due_at 70, but it must be none'],
])('sweep_due_at: %s', (_, fields, sweepDueAt, message) => {
  const record = createKeyRecord({ lease_expires_at: 70, ...fields });
  const expected = message === null ? [] : [violation('sweep_due_at', KEY_PATH, message)];
  expect(checkSweepDueAt(record, sweepDueAt)).toEqual(expected);
});

const HOUR_MS = 60 * 60_000;

test.each<[string, Partial<KeyRecord>, unknown, string | null]>([
  ['almost an hour', {}, NOW - HOUR_MS + 1, null],
  [
    'an hour, unreported or not resumed',
    {},
    NOW - HOUR_MS,
    'has been due for 60 min, and no sweep has resumed or reported it',
  ],
  ['an hour while in progress, which only the rule `lease` reports', { status: 'processing' }, NOW - HOUR_MS, null],
  ['no time', {}, undefined, null],
])('a key that is due for %s', (_, fields, sweepDueAt, message) => {
  const record = createKeyRecord({ status: 'requires_review', ...fields });
  const expected = message === null ? [] : [violation('sweep_due_at', KEY_PATH, message)];
  expect(checkOverdue(record, sweepDueAt, NOW, keyDocumentId('boq-1'))).toEqual(expected);
});

const REVIEW = { status: 'requires_review', failure: 'x', failure_cause: 'error', response: null } as const;
const archive = (document_id: string) => ({ ...createKeyRecord({ document_id }), settled_at: 1 });

test.each<[string, Partial<KeyRecord>, string | null]>([
  ['requires review', REVIEW, null],
  ['was resumed as often as possible', { ...REVIEW, automatic_resumes: 3 }, null],
  ['was resumed too often', { automatic_resumes: 4 }, 'has 4 automatic resumes'],
  ['has a negative number of resumes', { automatic_resumes: -1 }, 'has -1 automatic resumes'],
  ['has no owner', { owner: '' }, 'is processing without an owner'],
  ['has no failure', { ...REVIEW, failure: null }, 'requires review without a failure'],
  ['has no cause', { ...REVIEW, failure_cause: null }, 'requires review without a cause'],
  ['was released', { status: 'released', actions: [{ action: 'release', at: 1, by: 'ada', reason: 'x' }] }, null],
  ['was released by nobody', { status: 'released' }, 'is released without that action'],
  ['has another attempt in its history', { history: [archive('earlier')] }, null],
  ['has its own attempt in its history', { history: [archive('document')] }, 'records an attempt twice'],
  ['has an attempt twice in its history', { history: [archive('a'), archive('a')] }, 'records an attempt twice'],
])('a key record that %s', (_, fields, message) => {
  const expected = message === null ? [] : [violation('key_record', KEY_PATH, message)];
  expect(checkKeyRecord(createKeyRecord(fields), keyDocumentId('boq-1'))).toEqual(expected);
});

describe('a lease', () => {
  const expiredAt = NOW - 5 * 60_000;
  const FAR_FAILURE =
    'was changed at 2096-10-02T07:06:40.000Z, in the future, so no sweep resumes it before then: use resume or release';
  const EXPIRED = 'is processing, but its lease expired 5 min ago, and no sweep has resumed it';

  test.each<[string, Partial<KeyRecord>, Violation[]]>([
    ['that expired almost five minutes ago', { lease_expires_at: expiredAt + 1 }, []],
    ['that expired five minutes ago', { lease_expires_at: expiredAt }, [violation('lease', KEY_PATH, EXPIRED)]],
    ['of an attempt that has ended', { lease_expires_at: 0, status: 'requires_review' }, []],
    ['of the longest duration', { lease_expires_at: NOW + LEASE_DURATION_MS }, []],
    [
      'that ends more than one lease after its read',
      { lease_expires_at: NOW + LEASE_DURATION_MS + 1 },
      [violation('lease', KEY_PATH, 'has a lease until 1970-01-01T00:17:20.001Z, longer than any instance grants')],
    ],
    ['of an attempt that failed when it was read', { status: 'requires_review', updated_at: NOW }, []],
    [
      'of an attempt that failed in the far future',
      { status: 'requires_review', updated_at: 4_000_000_000_000 },
      [violation('sweep_due_at', KEY_PATH, FAR_FAILURE)],
    ],
  ])('%s', (_, fields, expected) => {
    expect(checkTimes(createKeyRecord(fields), NOW)).toEqual(expected);
  });
});

describe('an attempt', () => {
  test('that is stored completely has no violation', () => {
    expect(check(createCompleted())).toEqual([]);
  });

  test.each<[KeyRecord['status'], string]>([
    ['processing', 'processing'],
    ['requires_review', 'failed'],
    ['released', 'failed'],
  ])('that is %s can have %s lists that were written at another time', (status, listStatus) => {
    expect(check(createIn(status, listStatus, { updated_at: NOW + 1 }))).toEqual([]);
  });

  test('without a market has no lists', () => {
    const { record, stored } = createCompleted();
    const attempt = { ...record, lists: null };
    const response = createSuccessResponse(attempt, info, NOW);
    const facts = { market_found: false, currency_differs: false };
    const request = { ...stored.request, ...facts, expected_forward_cost_id: null, price_list_id: null };
    expect(check({ record: { ...attempt, response }, stored: { ...stored, request, lists: null } })).toEqual([]);
    // Lists that do not belong to the attempt are ignored.
    expect(check({ record: { ...attempt, response }, stored: { ...stored, request } })).toEqual([]);
  });
});

describe('a request record', () => {
  test('that does not exist', () => {
    const { record, stored } = createCompleted();
    expect(check({ record, stored: { ...stored, request: undefined } })).toEqual([
      violation('request', REQUEST_PATH, 'does not exist'),
    ]);
  });

  test.each(Object.keys(createCompleted().stored.request ?? {}).filter((name) => name !== 'request_id'))(
    'with another %s',
    (name) => {
      const { record, stored } = createCompleted();
      for (const changed of [
        { ...stored.request, [name]: 'another' },
        { ...stored.request, [name]: undefined },
      ]) {
        expect(check({ record, stored: { ...stored, request: changed } })).toEqual([
          violation('request', REQUEST_PATH, `differs from its attempt: ${name}`),
        ]);
      }
    },
  );

  test('with several other facts names each', () => {
    const { record, stored } = createCompleted();
    const request = { ...stored.request, products_count: 3, market_id: 'other' };
    expect(check({ record, stored: { ...stored, request } })).toEqual([
      violation('request', REQUEST_PATH, 'differs from its attempt: products_count, market_id'),
    ]);
  });
});

describe('a payload', () => {
  const invalid = (chunks: number): StoredPayload => ({ kind: 'invalid', reason: 'chunks are missing', chunks });
  const unusable = violation('payload', PAYLOAD_PATH, 'cannot be used: chunks are missing');

  test.each<[string, KeyRecord['status'], string, number, Violation[]]>([
    ['with the chunks of the claim', 'processing', 'processing', 9, []],
    ['of a failed attempt, with one chunk missing', 'requires_review', 'failed', 11, []],
    ['with fewer chunks than the claim stores', 'processing', 'processing', 8, [unusable]],
    ['of a failed attempt, with all chunks stored', 'requires_review', 'failed', 12, [unusable]],
    ['of a completed attempt', 'completed', 'ready', 9, [unusable]],
  ])('that cannot be used, %s', (_, status, listStatus, chunks, expected) => {
    const { record, stored } = createIn(status, listStatus);
    expect(check({ record, stored: { ...stored, payload: invalid(chunks) } })).toEqual(expected);
  });

  test.each<[string, Partial<typeof submission>, string[]]>([
    ['another key', { info: { ...info, boq_list_id: 'other' } }, ['belongs to another key']],
    ['another market', { info: { ...info, market_id: 'other' } }, ['is for another market']],
    [
      'more products',
      { products: parseSubmission(createPriceListBody(3)).products },
      ['has 3 products, but its attempt has 2'],
    ],
  ])('of %s', (_, changed, messages) => {
    const { record, stored } = createIn('requires_review', 'failed');
    const payload: StoredPayload = {
      kind: 'valid',
      submission: { ...submission, ...changed },
    };
    const found = check({ record, stored: { ...stored, payload } });
    expect(found.filter(({ rule }) => rule === 'payload')).toEqual(
      messages.map((message) => violation('payload', PAYLOAD_PATH, message)),
    );
  });
});

describe('a response', () => {
  const differing = (response: string) => {
    const { record, stored } = createCompleted();
    return check({ record: { ...record, response }, stored });
  };
  const { response } = createCompleted().record;
  const changed = (fields: object) => JSON.stringify({ ...(JSON.parse(response ?? '') as object), ...fields });

  test('is compared only for completed keys', () => {
    expect(check(createIn('requires_review', 'failed', { response: 'none' }))).toEqual([]);
    expect(check(createIn('completed', 'ready', { response: null }))).toEqual([]);
  });

  test.each([
    ['has another message', changed({ message: 'another' }), 'message'],
    ['has other bytes', response?.replace('{"success"', '{ "success"') ?? '', 'its bytes'],
    ['shows another count', changed({ products_count: 3 }), 'products_count'],
    ['has a field more', changed({ more: 1 }), 'more'],
    ['has a field less', changed({ document_id: undefined }), 'document_id'],
    ['differs twice', changed({ success: false, market: null }), 'success, market'],
  ])('that %s', (_, text, names) => {
    expect(differing(text)).toEqual([
      violation('response', KEY_PATH, `has a response that differs from its records: ${names}`),
    ]);
  });

  test.each(['{', '1', 'null'])('that is %s is not a JSON object', (text) => {
    expect(differing(text)).toEqual([violation('response', KEY_PATH, 'has a response that is not JSON')]);
  });
});

describe('a list', () => {
  const LISTS = [
    ['expected_forward_cost', 'expected_forward_costs/cost-list'],
    ['price_list', 'price_lists/price-list'],
  ] as const;

  function changeList(kind: 'expected_forward_cost' | 'price_list', change: Partial<StoredList>, status = 'completed') {
    const isCompleted = status === 'completed';
    const { record, stored } = createIn(status as KeyRecord['status'], isCompleted ? 'ready' : 'failed');
    const { lists } = stored;
    if (lists === null) throw new Error('the attempt has lists');
    return check({ record, stored: { ...stored, lists: { ...lists, [kind]: { ...lists[kind], ...change } } } });
  }
  const getDocument = (kind: 'expected_forward_cost' | 'price_list') =>
    createCompleted().stored.lists?.[kind].document ?? {};

  test.each(LISTS)('%s that does not exist', (kind, path) => {
    expect(changeList(kind, { document: undefined })).toEqual([violation('list_document', path, 'does not exist')]);
  });

  test.each(LISTS)('%s with fields that differ', (kind, path) => {
    const changed = (fields: object) => changeList(kind, { document: { ...getDocument(kind), ...fields } });
    const message = (names: string) => [violation('list_document', path, `differs from its attempt: ${names}`)];
    expect(changed({ currency: 'XXX' })).toEqual(message('currency'));
    expect(changed({ updated_at: NOW + 1 })).toEqual(message('updated_at'));
    expect(changed({ new_date: { year: 2026, month: 7 } })).toEqual(message('new_date'));
    expect(changed({ name: undefined, more: 1, others: 2 })).toEqual(message('name, 2 other fields'));
    expect(changed({ secret: 1 })).toEqual(message('1 other fields'));
  });

  test.each(LISTS)('%s that is failed although its attempt is completed has only this violation', (kind, path) => {
    expect(changeList(kind, { document: { ...getDocument(kind), status: 'failed' } })).toEqual([
      violation('list_status', path, 'is failed, but its attempt is completed'),
    ]);
  });

  test.each<[string, number, string, Violation[]]>([
    [
      'fewer entries, of a completed attempt',
      1,
      'completed',
      [violation('entry_count', 'price_lists/price-list/products', 'has 1 entries for 2 products')],
    ],
    ['fewer entries', 1, 'requires_review', []],
    [
      'more entries',
      3,
      'requires_review',
      [violation('entry_count', 'price_lists/price-list/products', 'has 3 entries for 2 products')],
    ],
  ])('with %s', (_, entryCount, status, expected) => {
    expect(changeList('price_list', { entryCount }, status)).toEqual(expected);
  });

  test('with entries that differ names at most three products', () => {
    const path = 'price_lists/price-list/products';
    const entries = { missing: ['a', 'e', 'f', 'g'], different: ['b'], extra: ['c', 'd'] };
    const others = [
      violation('entry_values', path, 'has 1 entries that differ from the payload', ['b']),
      violation('entry_values', path, 'has 2 entries that are not in the payload', ['c', 'd']),
    ];
    expect(changeList('price_list', { entries })).toEqual([
      violation('entry_values', path, 'has 4 products without an entry', ['a', 'e', 'f']),
      ...others,
    ]);
    expect(changeList('price_list', { entries }, 'requires_review')).toEqual(others);
    expect(changeList('price_list', { entries: null })).toEqual([]);
  });

  test.each<[KeyRecord['status'], boolean, string[]]>([
    ['processing', false, ['processing']],
    ['processing', true, ['failed']],
    ['completed', false, ['ready']],
    ['requires_review', false, ['failed']],
    ['released', true, ['failed']],
  ])('of an attempt that is %s, resumed: %s, is %j', (status, isResumed, allowed) => {
    const action = isResumed ? 'resume' : 'release';
    const record = createKeyRecord({
      status,
      lists: TEST_LISTS,
      actions: (['release', action] as const).map((each) => ({ action: each, at: 1, by: 'operator', reason: null })),
    });
    const [recorded] = getAttemptsOfKey(record);
    if (recorded === undefined) throw new Error('a record has its present attempt');
    for (const found of ['processing', 'ready', 'failed']) {
      const isAllowed = allowed.includes(found);
      expect(checkListStatus(recorded, 'price_list', { status: found })).toEqual(
        isAllowed ? [] : [violation('list_status', LISTS[1][1], `is ${found}, but its attempt is ${status}`)],
      );
    }
  });

  test.each([undefined, 1, 'two words', 'x'.repeat(21)])(
    'with the invalid status %p is reported without that status',
    (status) => {
      const [recorded] = getAttemptsOfKey(createKeyRecord({ lists: TEST_LISTS }));
      if (recorded === undefined) throw new Error('a record has its present attempt');
      expect(checkListStatus(recorded, 'expected_forward_cost', { status })).toEqual([
        violation('list_status', LISTS[0][1], 'is no valid status, but its attempt is processing'),
      ]);
      expect(checkListStatus(recorded, 'expected_forward_cost', { status: 'x'.repeat(20) })[0]?.message).toMatch(
        /^is x{20},/,
      );
    },
  );
});

test('compareEntries lists missing, different and extra entries', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const wanted = { ids, prices: Float64Array.of(0, 1, 2, 3, 4, 5) };
  expect(await compareEntries(wanted, [])).toEqual({ ...NO_DIFFERENCES, missing: ids });
  const stored = [
    ['a', 0],
    ['b', 2],
    ['c', '2'],
    ['d', undefined],
    ['x', 1],
    ['y', 1],
  ] as const;
  expect(await compareEntries(wanted, stored)).toEqual({
    missing: ['e', 'f'],
    different: ['b', 'c', 'd'],
    extra: ['x', 'y'],
  });
});
