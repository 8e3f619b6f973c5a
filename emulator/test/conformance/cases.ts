import {
  DOCUMENTS,
  NULL,
  OTHER,
  array,
  begin,
  by,
  byDescending,
  bytes,
  call,
  collection,
  commit,
  count,
  double,
  every,
  exists,
  field,
  get,
  group,
  int,
  limit,
  long,
  map,
  mask,
  order,
  query,
  read,
  reference,
  remove,
  rollback,
  select,
  set,
  text,
  time,
  times,
  update,
  updated,
  where,
  within,
  type Call,
} from './calls';
import type { JsonObject } from './protocol';

/* For these calls, the embedded Firestore returns what Google's emulator returns. Most cases are rows of a table. */

/** A sequence of calls, which starts with an empty database. */
export interface Case {
  readonly title: string;
  readonly calls: readonly Call[];
}

/** Creates one case for each row. */
const rows = <T>(area: string, each: readonly T[], toCalls: (row: T) => readonly Call[]): Case[] =>
  each.map((row, i) => ({ title: `${area} ${i + 1}: ${JSON.stringify(row).slice(0, 80)}`, calls: toCalls(row) }));

const fill = (...values: JsonObject[]): Call =>
  commit(...values.map((value, i) => update(`a/${i + 10}`, { f: value })));
const nest = (depth: number): JsonObject => (depth === 0 ? int(1) : map({ k: nest(depth - 1) }));
const nestInArrays = (depth: number): JsonObject => (depth === 0 ? int(1) : array(map({ k: nestInArrays(depth - 1) })));
const TRUE: JsonObject = { booleanValue: true };
const NAN = double('NaN');
const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

const COMPARABLE: readonly JsonObject[] = [
  ...[{ booleanValue: false }, TRUE, double('-Infinity'), int(MIN), int(-1), double('-0'), int(0), double(5e-324)],
  ...[int(1), double(1), double(1.5), int('9007199254740993'), double(9007199254740992), int(MAX)],
  ...[double(9223372036854775808), double('Infinity'), time('-1', 999_999_000), time('0')],
  ...['', '\0', 'a', 'aa', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}'].map(text),
  ...[bytes(0), bytes(1)],
  ...['a/1', 'a/1/b/1', 'a-/1', 'aa/1'].map(reference),
  { referenceValue: OTHER },
  ...[array(), array(int(1)), array(int(1), int(2)), array(int(2)), array(text('a'))],
  ...[map({}), map({ a: int(1) }), map({ b: int(1), a: int(1) }), map({ a: int(2) }), map({ b: int(0) })],
];
const ALL_VALUES = [...COMPARABLE, NAN, NULL];

const storedValues: readonly JsonObject[] = [
  ...ALL_VALUES,
  ...[{}, array(array()), array(map({ k: array(int(1)) })), array(int(1), double(1), text(''), NULL, TRUE, bytes(0))],
  ...[map({ '9': int(1), '10': map({ '9': int(1) }), é: int(1), 'a.b': int(1) }), map({ k: {} })],
  ...[time('-62135596801'), time('-62135596800'), time('253402300799', 999_999_999), time('253402300800')],
  ...[time('0', -1), time('0', 1_000_000_000), array(time('253402300800'))],
  ...['', 'a/1', '$db', DOCUMENTS, `${DOCUMENTS}/a`, `${DOCUMENTS}/a/__x__`].map((referenceValue) => ({
    referenceValue,
  })),
  ...[long(1_048_487), long(1_048_488), array(long(1_048_488)), bytes(1_048_488), nest(19), nest(20), nest(21)],
  ...[nestInArrays(10), nestInArrays(11)],
  ...['', '__x__', '__name__', 'k'.repeat(1498), 'k'.repeat(1501)].map((key) => map({ [key]: int(1) })),
];

const filters: readonly JsonObject[] = [
  ...[30, 31].map((length) => where('f', 'IN', array(...times(length, int)))),
  every(where('f', 'IN', array(...times(6, int))), where('g', 'IN', array(...times(6, int)))),
  every(where('f', 'IN', array(...times(6, int))), where('g', 'IN', array(...times(5, int)))),
  ...[array(), int(1), array(NULL, NAN), array(array(int(1))), array(array(int(1), int(2)), text('a'))].map((value) =>
    where('f', 'IN', value),
  ),
  ...[NULL, NAN].map((value) => where('f', 'EQUAL', value)),
  ...[every(), { compositeFilter: { filters: [where('f', 'EQUAL', int(1))] } }, {}],
  ...[{ fieldFilter: { ...field('f'), op: 'EQUAL' } }, { fieldFilter: { ...field('f'), value: int(1) } }],
  ...['f', '__name__', 'g', 'm.k'].map((path) => ({ unaryFilter: { ...field(path), op: 'IS_NULL' } })),
  ...['EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'].flatMap((op) =>
    [reference('a/11'), reference('b/10'), reference('a/11/b/1')].map((value) => where('__name__', op, value)),
  ),
  ...[text('10'), reference('a'), { referenceValue: OTHER }].map((value) => where('__name__', 'EQUAL', value)),
  ...[
    ['a/10', 'a/11'],
    ['a/10', 'a'],
  ].map((paths) => where('__name__', 'IN', array(...paths.map(reference)))),
  where('__name__', 'IN', array(reference('a/10'), text('a/11'))),
  every(where('f', 'GREATER_THAN', int(9)), where('f', 'LESS_THAN', int(0))),
  every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN', text('b'))),
  every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN_OR_EQUAL', int(2)), where('g', 'EQUAL', int(2))),
  every(where('g', 'EQUAL', int(2)), every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN', int(2)))),
  every(where('g', 'EQUAL', int(2)), where('__name__', 'GREATER_THAN', reference('a/11'))),
  ...['m.k', 'm.none', 'f.k', '`m`.`k`', '__x__', 'f.__x__', 'f.__name__'].map((path) => where(path, 'EQUAL', int(1))),
  ...['fx', 'fxy'].map((path) => where(path, 'EQUAL', int(1))),
  ...[array(...times(31, int)), array(long(800), long(800))].map((value) => where('f', 'EQUAL', value)),
  ...[{}, time('253402300800'), ...[{ referenceValue: 'x' }].flatMap((x) => [x, array(x), map({ x })])].map((value) =>
    where('f', 'EQUAL', value),
  ),
  ...[long(1499), long(1500), text('é'.repeat(750)), bytes(1500), bytes(1501)].flatMap((value) => [
    where('f', 'EQUAL', value),
    where('f', 'IN', array(int(1), value)),
  ]),
];

const orders: readonly JsonObject[] = [
  ...[by('f'), by('f', 'g'), by('g', 'f'), byDescending('f'), byDescending('f', 'g'), by('m.k'), by('none')],
  ...[by('f', 'f'), by('__name__', 'f'), by('__name__'), byDescending('__name__'), byDescending('f', '__name__')],
  ...[
    [order('f'), order('f', 'DESCENDING')],
    [order('f'), order('__name__', 'DESCENDING')],
    [order('f', 'DESCENDING'), order('g'), order('__name__')],
    [{ ...field('f') }],
  ].map((orderBy) => ({ orderBy })),
  ...['f', 'g', '__name__'].flatMap((path) => [
    { where: where('f', 'EQUAL', int(1)), ...by(path) },
    { where: where('f', 'EQUAL', int(1)), ...byDescending(path) },
    { where: where('f', 'GREATER_THAN', int(0)), ...by(path) },
    { where: where('f', 'IN', array(int(2), int(1))), ...byDescending(path) },
  ]),
  { where: where('__name__', 'GREATER_THAN', reference('a/10')), ...by('__name__') },
  { where: where('__name__', 'LESS_THAN', reference('a/14')), ...byDescending('__name__') },
  { where: where('__name__', 'GREATER_THAN', reference('a/10')) },
  { where: where('__name__', 'EQUAL', reference('a/10')), ...byDescending('__name__') },
  by('__x__'),
  ...[0, 1, 3, 100, -1].flatMap((length) => [limit(length), { ...byDescending('f'), ...limit(length) }]),
  ...[
    select(),
    select('__name__'),
    select('f', 'f'),
    select('m.k', 'g'),
    select('m', 'm.k'),
    select(''),
    select('__x__'),
  ],
];

const cursors: readonly JsonObject[] = [
  ...[true, false].flatMap((before) =>
    [
      { ...by('f'), startAt: { values: [int(1)] } },
      { ...by('f'), startAt: { values: [double(1.5)] } },
      { ...byDescending('f'), startAt: { values: [int(1)] } },
      { ...by('f', 'g'), startAt: { values: [int(1)] } },
      { ...by('f', 'g'), startAt: { values: [int(1), int(2)] } },
      { ...byDescending('f', 'g'), startAt: { values: [int(1), int(2)] } },
      { ...by('f', '__name__'), startAt: { values: [int(1), reference('a/13')] } },
      { ...byDescending('f', '__name__'), startAt: { values: [int(1), reference('a/13')] } },
      { ...by('__name__'), startAt: { values: [reference('a/12')] } },
      { ...by('__name__'), startAt: { values: [reference('a/12/b/1')] } },
      { where: where('f', 'EQUAL', int(1)), ...by('__name__'), startAt: { values: [reference('a/13')] }, ...limit(1) },
      { where: where('f', 'GREATER_THAN', int(0)), ...by('f'), startAt: { values: [int(2)] } },
    ].map(({ startAt, ...rest }) => ({ ...rest, startAt: { ...startAt, before } })),
  ),
  { ...by('f'), startAt: { values: [int(1), reference('a/10')] } },
  { startAt: { values: [reference('a/10')] } },
  ...[text('10'), { referenceValue: OTHER }, reference('b'), reference('b/1')].map((value) => ({
    ...by('__name__'),
    startAt: { values: [value] },
  })),
  ...[[], [{ referenceValue: 'x' }], [NULL]].map((values) => ({ ...by('f'), startAt: { values } })),
];

const sources: readonly JsonObject[] = [
  ...[{ from: [{ collectionId: 'a' }, { collectionId: 'b' }] }, collection('b'), group('a'), group('b')],
  { ...group('b'), where: where('f', 'EQUAL', int(2)) },
  { ...group('b'), ...byDescending('f') },
  { ...group('b'), ...byDescending('__name__') },
  { ...group('b'), where: where('__name__', 'GREATER_THAN', reference('a/1/b/1')) },
  { ...group('b'), ...by('__name__'), startAt: { values: [reference('a/1/b/2')] }, ...limit(2) },
  ...['.', '..', '__x__', 'c'.repeat(1500), 'a/1/b'].map(collection),
];

const counts: readonly Call[] = [
  ...[{}, limit(2), limit(0), limit(-1), by('f'), by('g'), select('g')].map((rest) => count(rest)),
  ...[where('f', 'EQUAL', int(1)), where('f', 'EQUAL', int(7))].map((filter) => count({ where: filter }, 'x')),
  count({ ...by('f'), startAt: { values: [int(1)], before: false } }, '`a b`'),
  count(group('a')),
  call('RunAggregationQuery', {
    parent: DOCUMENTS,
    structuredAggregationQuery: { structuredQuery: collection('a'), aggregations: [] },
  }),
];

const names: readonly string[] = [
  ...['.', '..', '__', '__x__', '__\n__', 'x \n y', 'x\0y', '', 'é', '\uffff', '\u{10000}'].map((id) => `a/${id}`),
  `a/${'x'.repeat(1500)}`,
  ...['', '__x__', '.'].map((id) => `${id}/1`),
  ...['a', 'a/1/'],
  times(100, (i) => `c/${i}`).join('/'),
];

const fieldPaths: readonly (readonly string[])[] = [
  ...['', '__x__', '__name__', '`x.y`', '``', '`x', 'x-y', '1a', 'a..b', 'a.', '.a', '*', 'é', '`é`'].map((path) => [
    path,
  ]),
  ...['`a\\`b`', '`a\\\\b`', 'f', 'f.k', 'm', 'm.k', 'm.n.o', 'new.path', 'none', 'none.k'].map((path) => [path]),
  ...[[], ['f', 'f'], ['m', 'm.k'], ['m.k', 'm.n'], ['m.k', 'f', 'none']],
];

/** The calls of further cases, by title. */
const scripts: Readonly<Record<string, readonly Call[]>> = {
  'the order of all values': [
    fill(...ALL_VALUES),
    query(by('f')),
    query(byDescending('f')),
    query({ ...by('f'), startAt: { values: [text('')], before: true } }),
  ],
  'the order of ids': [
    commit(
      ...names.slice(4, 6).map((path) => update(path)),
      ...['b', 'B', 'a1', 'a', '\uffff', '\u{10000}'].map((id) => update(`a/${id}`)),
    ),
    query(),
  ],
  'names that are too long': ['x'.repeat(1501), '€'.repeat(501), times(201, String).join('/')].map((id) =>
    set(`a/${id}`),
  ),
  'a write that changes nothing but the order of the keys': [
    set('a/1', { f: int(1), g: map({ a: int(1), b: int(2) }) }),
    set('a/1', { g: map({ b: int(2), a: int(1) }), f: int(1) }),
    get('a/1'),
  ],
  'a number that changes only its type': [set('a/1', { f: int(1) }), set('a/1', { f: double(1) }), get('a/1')],
  'update times': [
    set('a/1', { f: int(1) }),
    set('a/1', { f: int(2) }, updated('$time:0')),
    set('a/1', { f: int(2) }),
    set('a/1', { f: int(3) }, updated('$time:0')),
    set('a/1', { f: int(3) }, updated('$time:2')),
    commit(remove('a/1', updated('$time:0'))),
    get('a/1'),
    commit(remove('a/1', updated('$time:4'))),
    get('a/1'),
    ...[{ nanos: 1 }, { nanos: -1 }, { seconds: '253402300800' }].map((wrong) =>
      set('a/1', {}, updated({ seconds: '1000000000', ...wrong })),
    ),
    set('a/1', {}, { currentDocument: {} }),
  ],
  preconditions: [false, true].flatMap((isThere) =>
    [true, false].flatMap((value) => [
      set('a/1', { f: int(1) }, exists(value)),
      get('a/1'),
      commit(remove('a/1', exists(value)), update('a/2')),
      get('a/1', 'a/2'),
      ...(isThere ? [set('a/1', { g: int(1) })] : []),
    ]),
  ),
  'a document that is deleted and created again': [
    set('a/1', { f: int(1) }),
    set('a/1', { f: int(2) }, mask('f')),
    get('a/1'),
    commit(remove('a/1')),
    commit(remove('a/1')),
    set('a/1', { f: int(3) }),
    get('a/1'),
    query(),
  ],
  'commits that apply all of their writes or none': [
    commit(update('a/1', { f: int(1) }), update('a/2', {}, exists(true))),
    get('a/1'),
    commit(update('a/1', { f: int(1) }), update('a/2', {}, exists(false)), remove('a/3')),
    commit(update('a/1', { f: int(2) }), remove('a/2'), update('a/__x__')),
    query(),
  ],
  'an empty document, an empty commit and an empty write': [set('a/1'), commit(), commit({}), get('a/1')],
  'a commit of 501 writes': [commit(...times(501, (i) => update(`a/${i}`, { f: int(i) })))],
  'a document over 1 MiB': [set('a/1', { f: long(700_000), g: long(400_000) })],
  'malformed databases': [
    ...[undefined, '', 'x', 'projects/p', 'projects/p/databases', 'projects//databases/(default)', DOCUMENTS],
  ].flatMap((database) =>
    [commit(), begin(), get('a/1')].map(({ rpc, request }) => call(rpc, { ...request, database })),
  ),
  'reads of no documents, and of one twice': [set('a/1', { f: int(1) }), get(), get('a/1', 'a/1', 'a/2')],
  'lists of collections': [
    commit(...['b/1', 'a/1', 'é/1', 'a/1/s/1', 'a/1/s/1/t/1', 'a/2/u/1'].map((path) => update(path))),
    ...[DOCUMENTS, 'x', ...['a/1', 'a/none', 'a'].map((path) => `${DOCUMENTS}/${path}`)].map((parent) =>
      call('ListCollectionIds', { parent }),
    ),
    commit(...['a/1/s/1', 'a/2/u/1'].map((path) => remove(path))),
    ...[DOCUMENTS, `${DOCUMENTS}/a/1`, `${DOCUMENTS}/a/2`].map((parent) => call('ListCollectionIds', { parent })),
  ],
  'documents that are added between others and at the ends': [
    commit(...['a/1', 'a/3', 'a/5'].map((path) => update(path))),
    query(),
    commit(remove('a/5'), ...['a/2', 'a/4', 'a/0', 'a/6'].map((path) => update(path))),
    query(),
  ],
  'field names': ['k'.repeat(1500), 'k'.repeat(1501), '€'.repeat(501), '__x', '__name__', ''].map((key) =>
    set('a/1', { [key]: int(1) }),
  ),
  'an unknown transaction': [commit(), get('a/1'), query(), count()].map((each) => within(each, '$tx:9')),
  'a malformed write in a transaction that has ended': [begin(), rollback(), within(set('a/__x__'))],
  'a transaction': [
    set('a/1', { f: int(1) }),
    begin(),
    within(get('a/1', 'a/2'), '$tx:1'),
    within(query(), '$tx:1'),
    within(count(), '$tx:1'),
    get('a/1'),
    within(commit(update('a/1', { f: int(2) }), update('a/2')), '$tx:1'),
    query(),
    within(get('a/1'), '$tx:1'),
    within(set('a/3'), '$tx:1'),
  ],
  'a transaction that is rolled back': [begin(), within(get('a/1')), rollback(), within(get('a/1')), rollback()],
  'a rollback after a commit': [begin(), within(set('a/1')), rollback()],
  'a commit of a transaction that failed': [begin(), within(set('a/1', {}, exists(true))), within(set('a/2'))],
  'a transaction that a read begins': [
    read(['a/1'], { newTransaction: { readWrite: {} } }),
    within(set('a/1')),
    call('RunQuery', { ...query().request, newTransaction: { readWrite: {} } }),
    within(set('a/1', { f: int(2) }), '$tx:2'),
    call('RunAggregationQuery', { ...count().request, newTransaction: { readWrite: {} } }),
    within(set('a/2', { f: int(2) }), '$tx:4'),
  ],
  'a transaction of another database': [
    begin(),
    within(call('Commit', { database: 'projects/other/databases/(default)', writes: [] })),
  ],
  'reads at earlier times': [
    set('a/1', { f: int(1) }),
    get('a/1'),
    set('a/1', { f: int(2) }),
    ...['$read:1', '$ago:59', { seconds: '9000000000' }, { seconds: '1700000000', nanos: 1 }].map((readTime) =>
      read(['a/1'], { readTime }),
    ),
  ],
  'queries at an earlier time': [
    commit(...times(3, (i) => update(`a/${i}`, { f: int(i) }))),
    query(),
    commit(update('a/0', { f: int(10) }), remove('a/1'), update('a/3', { f: int(3) })),
    set('a/1', { f: int(20) }),
    ...[
      ...[query(), query({ where: where('f', 'GREATER_THAN', int(0)), ...byDescending('f') }), query(group('a'))],
      ...[get('a/0', 'a/1', 'a/2', 'a/3'), count()],
    ].map(({ rpc, request }) => call(rpc, { ...request, readTime: '$read:1' })),
    query(),
  ],
};

const tree = commit(
  ...[
    ['b/1', 1],
    ['a/1', 1],
    ['a/1/b/1', 2],
    ['a/1/b/2', 2],
    ['a/2/b/1', 1],
    ['a/1/b/1/c/1', 1],
  ].map(([path, f]) => update(String(path), { f: int(Number(f)) })),
);
const numbers = commit(
  ...[
    [1, 3],
    [3, 1],
    [2, 2],
    [1, 2],
    [1, 2],
  ].map(([f = 0, g = 0], i) => update(`a/${i + 10}`, { f: int(f), g: int(g), m: map({ k: int(f), j: int(g) }) })),
);

/** Values with their sizes in bytes. https://firebase.google.com/docs/firestore/storage-size */
const sizes: readonly (readonly [JsonObject, number])[] = [
  ...[NULL, TRUE].map((value) => [value, 1] as const),
  ...[int(1), double(1), time('0')].map((value) => [value, 8] as const),
  ...[text('é'), bytes(3), array(NULL, TRUE, NULL)].map((value) => [value, 3] as const),
  [reference('a/1/bc/é'), 16 + 2 + 2 + 3 + 3],
];
const MAX_BYTES = 1024 * 1024;

export const cases: readonly Case[] = [
  ...rows('stored value', storedValues, (value) => [set('a/1', { f: value }), get('a/1')]),
  ...rows('compared value', COMPARABLE, (value) => [
    fill(...ALL_VALUES),
    ...['EQUAL', 'LESS_THAN', 'LESS_THAN_OR_EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL'].map((op) =>
      query({ where: where('f', op, value), ...select('__name__') }),
    ),
    query({ where: where('f', 'IN', array('arrayValue' in value ? int(1) : value)) }),
  ]),
  ...rows('filter', filters, (where) => [
    fill(int(1), int(2), array(int(1), int(2)), NULL, NAN, text('a')),
    commit(...[1, 2].map((f) => update(`a/9${f}`, { f: int(f), g: int(2), m: map({ k: int(1) }) }))),
    set('a/93', { fx: int(1), fxz: int(1) }),
    query({ where }),
  ]),
  ...rows('order', orders, (each) => [numbers, set('a/20', { g: int(9) }), query(each)]),
  ...rows('cursor', cursors, (each) => [numbers, set('a/20', { g: int(9) }), query(each)]),
  ...rows('collection', sources, (source) => [tree, query(source)]),
  ...rows(
    'parent',
    [
      '',
      'x',
      'x/p/databases/d/documents',
      'projects/p/x/d/documents',
      'projects/p/databases/d/x',
      '$db',
      ...['a', 'a/__x__', 'a/1'].map((path) => `${DOCUMENTS}/${path}`),
    ],
    (parent) => [tree, query(collection('b'), parent)],
  ),
  ...rows('count', counts, (each) => [numbers, set('a/20', { f: text('x') }), each]),
  // In the stored size, the document itself takes 32 bytes, its name 20, each field name two, and each string one more than its length.
  ...rows('size', sizes, ([value, size]) =>
    [0, 1].map((more) =>
      set('a/1', { x: long(500_000), y: long(MAX_BYTES - 20 - 32 - 500_003 - 3 - 2 - size + more), v: value }),
    ),
  ),
  ...rows('name', names, (path) => [set(path, { f: int(1) }), get(path), commit(remove(path))]),
  ...rows('field path', fieldPaths, (paths) => [
    set('a/1', { f: int(1), 'x.y': int(2), m: map({ k: int(1), n: map({ o: int(1) }) }) }),
    read(['a/1'], { mask: { fieldPaths: paths } }),
    set('a/1', { f: int(3), m: map({ n: map({ p: int(1) }) }), new: map({ path: int(3) }) }, mask(...paths)),
    get('a/1'),
    set('a/2', { f: int(3), 'a`b': int(1), 'a\\b': int(1), é: int(1) }, mask(...paths)),
    get('a/2'),
  ]),
  ...Object.entries(scripts).map(([title, calls]) => ({ title, calls })),
];
