import { checkAttempt, checkListDocument, type AttemptDocuments, type StoredList } from '../../../audit/attempt';
import { compareEntries } from '../../../audit/entry-differences';
import { checkKeyRecord, checkSweepDueAt, checkSweepTimes } from '../../../audit/key-record';
import type { Violation } from '../../../audit/violation';
import type { PriceListInfo, PriceListSubmission } from '../../../src/lib/schemas/add-price-lists';
import { keyDocumentId, type KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { UnusablePayloadError } from '../../../src/price-lists/payload';
import { createKeyRecord, TEST_LISTS } from '../../support/key-records';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

const NOW = 1_000_000;
const submission = parseSubmission(createPriceListBody(2));
const info: PriceListInfo = submission.info;

const NO_DIFFERENCES = { missing: [], different: [], extra: [] };

const LIST = {
  status: 'ready',
  created_at: 5,
  updated_at: NOW,
  currency: 'EGP',
  market_id: 'market-1',
  market_iso: 'EGY',
  name: 'June',
  new_date: { year: 2026, month: 6 },
};

/** The documents of both lists, and the response, as docs/data-model.md and docs/openapi.json describe them. */
const DOCUMENTS = { expected_forward_cost: LIST, price_list: { ...LIST, date: '06/2026' } };
const RESPONSE = {
  success: true,
  message: 'Payload is valid and stored',
  products_count: 2,
  document_id: 'document',
  market: { id: 'market-1', name: 'Egypt', iso: 'EGY' },
  expected_forward_cost: { id: 'cost-list', ...DOCUMENTS.expected_forward_cost },
  price_list: { id: 'price-list', ...DOCUMENTS.price_list },
};

/** Creates a completed attempt with its lists, without any violation. */
function createCompleted(): { record: KeyRecord; stored: AttemptDocuments } {
  const record = createKeyRecord({
    products_count: 2,
    lists: TEST_LISTS,
    claimed_at: 5,
    status: 'completed',
    updated_at: NOW,
    response: JSON.stringify(RESPONSE),
  });
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
      currency: 'EGP',
      expected_forward_cost_id: 'cost-list',
      price_list_id: 'price-list',
      created_at: 5,
      key_id: 'api-key-1',
      market_found: true,
      currency_differs: true,
      info,
      request_id: 'not compared',
      payload_chunks: 12,
    },
    payload: submission,
    lists: {
      expected_forward_cost: toList(DOCUMENTS.expected_forward_cost),
      price_list: toList(DOCUMENTS.price_list),
    },
  };
  return { record, stored };
}

/** Creates the completed attempt, and changes the status of its key and of its lists, and fields of its key record. */
function createIn(status: KeyRecord['status'], listStatus: string, fields: Partial<KeyRecord> = {}) {
  const { record, stored } = createCompleted();
  for (const list of Object.values(stored.lists ?? {})) Object.assign(list.document ?? {}, { status: listStatus });
  const response = status === 'completed' ? record.response : null;
  const request =
    status === 'released'
      ? { ...stored.request, released: { at: NOW, failure: null, failure_cause: null, actions: [] } }
      : stored.request;
  return { record: { ...record, status, response, ...fields }, stored: { ...stored, request } };
}

const check = ({ record, stored }: { record: KeyRecord; stored: AttemptDocuments }): Violation[] =>
  checkAttempt(record, stored);

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

const REVIEW = { status: 'requires_review', failure: 'x', failure_cause: 'error', response: null } as const;

const AT_70 = '1970-01-01T00:00:00.070Z';

test.each<[string, Partial<KeyRecord>, number | null, string | null]>([
  ['an attempt in progress is due with its lease', {}, 70, null],
  ['a wrong time', {}, 71, `has 1970-01-01T00:00:00.071Z in sweep_due_at, but must have ${AT_70}`],
  ['a number that is no time', {}, 9e15, `has 9000000000000000 in sweep_due_at, but must have ${AT_70}`],
  ['no time', {}, null, `has no time in sweep_due_at, but must have ${AT_70}`],
  ['a key that needs no sweep', { status: 'completed', response: '{}' }, null, null],
  ['a key that needs an operator, before that is reported', { ...REVIEW, updated_at: 70 }, 70, null],
  ['a key that needs an operator, after that is reported', REVIEW, null, null],
  [
    'a key that needs an operator, with a time before its failure',
    { ...REVIEW, updated_at: 100 },
    70,
    `has ${AT_70} in sweep_due_at, but must have 1970-01-01T00:00:00.100Z`,
  ],
  [
    'a time that it should not have',
    { status: 'completed', response: '{}' },
    70,
    `has ${AT_70} in sweep_due_at, but must have none`,
  ],
])('sweep_due_at: %s', (_, fields, sweepDueAt, message) => {
  const record = createKeyRecord({ lease_expires_at: 70, ...fields });
  const expected = message === null ? [] : [violation('sweep_due_at', KEY_PATH, message)];
  expect(checkSweepDueAt(record, sweepDueAt)).toEqual(expected);
});

const HOUR_MS = 60 * 60_000;

test.each<[string, Partial<KeyRecord>, number | null, string | null]>([
  ['almost an hour', {}, NOW - HOUR_MS + 1, null],
  [
    'an hour, unreported or not resumed',
    {},
    NOW - HOUR_MS,
    'has been due for 60 min, and no sweep has resumed or reported it',
  ],
  [
    'an hour while in progress, which only the rule `lease` reports',
    { status: 'processing', lease_expires_at: NOW },
    NOW - HOUR_MS,
    null,
  ],
  ['no time', {}, null, null],
])('a key that is due for %s', (_, fields, sweepDueAt, message) => {
  const record = createKeyRecord({ ...REVIEW, ...fields });
  const expected = message === null ? [] : [violation('sweep_due_at', KEY_PATH, message)];
  expect(checkSweepTimes(record, sweepDueAt, NOW)).toEqual(expected);
});

test.each<[string, Partial<KeyRecord>, string | null]>([
  ['requires review', REVIEW, null],
  ['has no owner', { owner: '' }, 'is processing without an owner'],
  ['has no owner, because its lease expired', { ...REVIEW, owner: '' }, null],
  ['was released', { status: 'released', actions: [{ action: 'release', at: 1, by: 'ada', reason: 'x' }] }, null],
  ['was released by nobody', { status: 'released' }, 'is released without that action'],
])('a key record that %s', (_, fields, message) => {
  const expected = message === null ? [] : [violation('key_record', KEY_PATH, message)];
  expect(checkKeyRecord(createKeyRecord(fields))).toEqual(expected);
});

describe('a lease', () => {
  const expiredAt = NOW - 5 * 60_000;
  const FAR_FAILURE =
    'was changed at 2096-10-02T07:06:40.000Z, in the future, so no sweep resumes it before then: use resume or release';
  const EXPIRED = 'is processing, but its lease expired 5 min ago, and no sweep has resumed it';

  test.each<[string, Partial<KeyRecord>, Violation[]]>([
    ['that expired almost five minutes ago', { lease_expires_at: expiredAt + 1 }, []],
    ['that expired five minutes ago', { lease_expires_at: expiredAt }, [violation('lease', KEY_PATH, EXPIRED)]],
    ['of an attempt that has ended', { ...REVIEW, lease_expires_at: 0 }, []],
    ['of the longest duration', { lease_expires_at: NOW + LEASE_DURATION_MS }, []],
    [
      'that ends more than one lease after its read',
      { lease_expires_at: NOW + LEASE_DURATION_MS + 1 },
      [violation('lease', KEY_PATH, 'has a lease until 1970-01-01T00:17:20.001Z, longer than any instance grants')],
    ],
    ['of an attempt that failed when it was read', { ...REVIEW, updated_at: NOW }, []],
    [
      'of an attempt that failed in the far future',
      { ...REVIEW, updated_at: 4_000_000_000_000 },
      [violation('sweep_due_at', KEY_PATH, FAR_FAILURE)],
    ],
  ])('%s', (_, fields, expected) => {
    expect(checkSweepTimes(createKeyRecord(fields), null, NOW)).toEqual(expected);
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
  ])('that is %s has %s lists', (status, listStatus) => {
    expect(check(createIn(status, listStatus))).toEqual([]);
  });

  test('that is released has this in its request record, and no other attempt has', () => {
    const { record, stored } = createIn('released', 'failed');
    const differs = [violation('request', REQUEST_PATH, 'differs from its attempt: released')];
    const released = { at: NOW, failure: null, failure_cause: null, actions: [] };
    for (const other of [
      undefined,
      { ...released, at: 1 },
      { ...released, actions: [{}] },
      { ...released, failure: 'x' },
    ])
      expect(check({ record, stored: { ...stored, request: { ...stored.request, released: other } } })).toEqual(
        differs,
      );
    const completed = createCompleted();
    const request = { ...completed.stored.request, released };
    expect(check({ record: completed.record, stored: { ...completed.stored, request } })).toEqual(differs);
  });

  test('without a market has no lists', () => {
    const { record, stored } = createCompleted();
    const response = JSON.stringify({ ...RESPONSE, market: null, expected_forward_cost: null, price_list: null });
    const attempt = { ...record, lists: null, response };
    const facts = { market_found: false, currency_differs: false, currency: null };
    const request = { ...stored.request, ...facts, expected_forward_cost_id: null, price_list_id: null };
    expect(check({ record: attempt, stored: { ...stored, request, lists: null } })).toEqual([]);
  });
});

describe('a request record', () => {
  test('that does not exist', () => {
    const { record, stored } = createCompleted();
    expect(check({ record, stored: { ...stored, request: undefined } })).toEqual([
      violation('request', REQUEST_PATH, 'does not exist'),
    ]);
  });

  test.each(
    Object.keys(createCompleted().stored.request ?? {}).filter(
      (name) => !['request_id', 'payload_chunks'].includes(name),
    ),
  )('with another %s', (name) => {
    const { record, stored } = createCompleted();
    for (const changed of [
      { ...stored.request, [name]: 'another' },
      { ...stored.request, [name]: undefined },
    ]) {
      expect(check({ record, stored: { ...stored, request: changed } })).toEqual([
        violation('request', REQUEST_PATH, `differs from its attempt: ${name}`),
      ]);
    }
  });

  test('with several other facts names each', () => {
    const { record, stored } = createCompleted();
    const request = { ...stored.request, products_count: 3, market_id: 'other' };
    expect(check({ record, stored: { ...stored, request } })).toEqual([
      violation('request', REQUEST_PATH, 'differs from its attempt: products_count, market_id'),
    ]);
  });
});

describe('a payload', () => {
  test.each<[KeyRecord['status'], string, isMarked: boolean, isAllowed: boolean]>([
    ['processing', 'processing', true, false],
    ['requires_review', 'failed', true, false],
    ['completed', 'ready', false, false],
    ['completed', 'ready', true, true],
    ['released', 'failed', true, true],
  ])('of a %s attempt that cannot be used', (status, listStatus, isMarked, isAllowed) => {
    const { record, stored } = createIn(status, listStatus);
    const request = { ...stored.request, ...(isMarked && { payload_expires_at: 1 }) };
    const payload = new UnusablePayloadError('chunks of it are missing');
    const found = [violation('payload', PAYLOAD_PATH, 'cannot be used: chunks of it are missing')];
    expect(check({ record, stored: { ...stored, request, payload } })).toEqual(isAllowed ? [] : found);
  });

  test.each<[string, Partial<PriceListSubmission>, string[]]>([
    ['another key', { info: { ...info, boq_list_id: 'other' } }, ['differs from its attempt: boq_list_id']],
    ['another market', { info: { ...info, market_id: 'other' } }, ['differs from its attempt: market_id']],
    [
      'another name and month',
      { info: { ...info, name: 'x', date: '07/2026' } },
      ['differs from its attempt: name, date'],
    ],
    [
      'more products',
      { products: parseSubmission(createPriceListBody(3)).products },
      ['has 3 products, but its attempt has 2'],
    ],
  ])('of %s', (_, changed, messages) => {
    const { record, stored } = createIn('requires_review', 'failed');
    const payload = { ...submission, ...changed };
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

  test.each<[KeyRecord['status'], string]>([
    ['processing', 'processing'],
    ['completed', 'ready'],
    ['requires_review', 'failed'],
    ['released', 'failed'],
  ])('of an attempt that is %s is %s, and no other status', (status, allowed) => {
    const { record } = createIn(status, allowed);
    for (const found of ['processing', 'ready', 'failed']) {
      const expected = [violation('list_status', LISTS[1][1], `is ${found}, but its attempt is ${status}`)];
      const document = { ...getDocument('price_list'), status: found };
      expect(checkListDocument(record, 'price_list', document)).toEqual(found === allowed ? [] : expected);
    }
  });

  test.each([undefined, 1, 'two words', 'x'.repeat(21)])(
    'with the invalid status %p is reported without that status',
    (status) => {
      const message = 'is no valid status, but its attempt is completed';
      expect(changeList('price_list', { document: { ...getDocument('price_list'), status } })).toEqual([
        violation('list_status', LISTS[1][1], message),
      ]);
    },
  );
});

test('compareEntries lists missing, different and extra entries', async () => {
  const wanted = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((id, price) => [id, price]));
  expect(await compareEntries(wanted, 'price', [])).toEqual({ ...NO_DIFFERENCES, missing: [...wanted.keys()] });
  const stored = [
    { id: 'a', fields: { price: 0 } },
    { id: 'b', fields: { price: 2 } },
    { id: 'c', fields: { price: '2' } },
    { id: 'd', fields: { price: 3, more: 1 } },
    { id: 'x', fields: { price: 1 } },
    { id: 'y', fields: {} },
  ];
  expect(await compareEntries(wanted, 'price', stored)).toEqual({
    missing: ['e', 'f'],
    different: ['b', 'c', 'd'],
    extra: ['x', 'y'],
  });
});
