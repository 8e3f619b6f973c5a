import type { JsonObject } from './protocol';
import type { Operation } from './sequence';

/* Scripted cases: what random sequences would meet too seldom. Most are rows of a table, which its operations are made of. */

/** A scripted case. */
export interface Case {
  readonly title: string;
  readonly operations: readonly Operation[];
}

const DOCUMENTS = '$db/documents';
const OTHER = 'projects/other/databases/(default)/documents/a/1';

const int = (value: number | string): JsonObject => ({ integerValue: String(value) });
const double = (doubleValue: number | string): JsonObject => ({ doubleValue });
const text = (stringValue: string): JsonObject => ({ stringValue });
const array = (...values: JsonObject[]): JsonObject => ({ arrayValue: { values } });
const map = (fields: JsonObject): JsonObject => ({ mapValue: { fields } });
const bytes = (length: number): JsonObject => ({ bytesValue: Buffer.alloc(length, 1).toString('base64') });
const reference = (path: string): JsonObject => ({ referenceValue: `${DOCUMENTS}/${path}` });
const otherReference: JsonObject = { referenceValue: OTHER };
const time = (seconds: string, nanos = 0): JsonObject => ({ timestampValue: { seconds, nanos } });
const TRUE: JsonObject = { booleanValue: true };
const NULL: JsonObject = { nullValue: 'NULL_VALUE' };
const NAN = double('NaN');
const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
const nest = (depth: number): JsonObject => (depth === 0 ? int(1) : map({ k: nest(depth - 1) }));
const long = (length: number, end = ''): JsonObject => text('x'.repeat(length - end.length) + end);
const times = <T>(length: number, create: (i: number) => T): T[] => Array.from({ length }, (_, i) => create(i));

const call = (rpc: string, request: JsonObject): Operation => ({ rpc, request });
const inDatabase = (rpc: string, request: JsonObject = {}): Operation => call(rpc, { database: '$db', ...request });
const commit = (...writes: JsonObject[]): Operation => inDatabase('Commit', { writes });
const update = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  update: { name: `${DOCUMENTS}/${path}`, fields },
  ...rest,
});
const set = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): Operation =>
  commit(update(path, fields, rest));
const remove = (path: string): JsonObject => ({ delete: `${DOCUMENTS}/${path}` });
const mask = (...fieldPaths: string[]): JsonObject => ({ updateMask: { fieldPaths } });
const exists = (value: boolean): JsonObject => ({ currentDocument: { exists: value } });
const updated = (updateTime: string | JsonObject): JsonObject => ({ currentDocument: { updateTime } });
const read = (paths: readonly string[], rest: JsonObject = {}): Operation =>
  inDatabase('BatchGetDocuments', { documents: paths.map((path) => `${DOCUMENTS}/${path}`), ...rest });
const get = (...paths: string[]): Operation => read(paths);
const fill = (...values: JsonObject[]): Operation =>
  commit(...values.map((value, i) => update(`a/${i + 10}`, { f: value })));

const field = (fieldPath: string): JsonObject => ({ field: { fieldPath } });
const where = (path: string, op: string, value: JsonObject): JsonObject => ({
  fieldFilter: { ...field(path), op, value },
});
const unary = (path: string, op: string): JsonObject => ({ unaryFilter: { ...field(path), op } });
const every = (...filters: JsonObject[]): JsonObject => ({ compositeFilter: { op: 'AND', filters } });
const order = (path: string, direction = 'ASCENDING'): JsonObject => ({ ...field(path), direction });
const by = (...paths: string[]): JsonObject => ({ orderBy: paths.map((path) => order(path)) });
const byDescending = (...paths: string[]): JsonObject => ({ orderBy: paths.map((path) => order(path, 'DESCENDING')) });
const startAt = (...values: JsonObject[]): JsonObject => ({ startAt: { values } });
const collection = (collectionId: string): JsonObject => ({ from: [{ collectionId }] });
const group = (collectionId: string): JsonObject => ({ from: [{ collectionId, allDescendants: true }] });
const kindless: JsonObject = { from: [{ allDescendants: true }] };
const select = (...paths: string[]): JsonObject => ({
  select: { fields: paths.map((fieldPath) => ({ fieldPath })) },
});
const limit = (value: number): JsonObject => ({ limit: { value } });
const query = (structuredQuery: JsonObject = {}, parent = DOCUMENTS): Operation =>
  call('RunQuery', { parent, structuredQuery: { ...collection('a'), ...structuredQuery } });
const aggregate = (aggregations: readonly JsonObject[], structuredQuery: JsonObject = {}): Operation =>
  call('RunAggregationQuery', {
    parent: DOCUMENTS,
    structuredAggregationQuery: { structuredQuery: { ...collection('a'), ...structuredQuery }, aggregations },
  });
const count = (alias = ''): JsonObject => ({ count: {}, alias });
const listIds = (rest: JsonObject): Operation => call('ListCollectionIds', { parent: DOCUMENTS, ...rest });

const begin = (options: JsonObject = { readWrite: {} }): Operation => inDatabase('BeginTransaction', { options });
const within = ({ rpc, request }: Operation, transaction = '$tx:0'): Operation =>
  call(rpc, { ...request, transaction });
const rollback = (transaction = '$tx:0'): Operation => within(inDatabase('Rollback'), transaction);
const quietly = (operation: Operation): Operation => ({ ...operation, quiet: true });

/** One case for each row. */
const rows = <T>(area: string, each: readonly T[], toOperations: (row: T) => readonly Operation[]): Case[] =>
  each.map((row, i) => ({
    title: `${area} ${i + 1}: ${JSON.stringify(row).slice(0, 80)}`,
    operations: toOperations(row),
  }));

const ALL_VALUES: readonly JsonObject[] = [
  ...[NULL, { booleanValue: false }, TRUE, NAN, double('-Infinity'), int(MIN), double('-0'), int(0), double(5e-324)],
  ...[int(1), double(1), double(1.5), int('9007199254740993'), double(9007199254740992), int(MAX)],
  ...[double(9223372036854775808), double('Infinity'), time('-1', 999_999_000), time('0')],
  ...['', '\0', 'a', 'é', '\ud7ff', '\uffff', '\u{10000}'].map(text),
  ...[bytes(0), bytes(1)],
  ...[...['a/1', 'a/1/b/1'].map(reference), otherReference],
  ...[array(), array(int(1)), array(int(1), int(2)), array(text('a'))],
  ...[map({}), map({ a: int(1) }), map({ a: int(1), b: int(1) }), map({ a: int(2) }), map({ b: int(0) })],
];

const storedValues: readonly JsonObject[] = [
  ...[{}, array(array()), array(map({ k: array(int(1)) })), array(int(1), double(1), text(''), NULL, TRUE, bytes(0))],
  ...[time('-62135596801'), time('-62135596800'), time('253402300799', 999_999_999), time('253402300800')],
  ...[time('0', -1), time('0', 1_000_000_000), array(time('253402300800'))],
  ...['', 'a/1', '$db', DOCUMENTS, `${DOCUMENTS}/a`, `${DOCUMENTS}/a/__x__`, OTHER].map((referenceValue) => ({
    referenceValue,
  })),
  ...[long(1_048_487), long(1_048_488), array(long(1_048_488)), bytes(1_048_488), nest(19), nest(20), nest(21)],
  ...['__x__', '__name__', 'k'.repeat(1500), 'k'.repeat(1501)].map((key) => map({ [key]: int(1) })),
  ...[1496, 1498].map((length) => map({ ['k'.repeat(length)]: map({ k: int(1) }) })),
];

const SIZES = [1499, 1500];
const sizedFilters: readonly JsonObject[] = [
  ...[...SIZES.map((length) => long(length)), text('é'.repeat(750))].flatMap((value) => [
    ...['EQUAL', 'LESS_THAN'].map((op) => where('f', op, value)),
    ...[where('f', 'IN', array(int(1), value)), where('f', 'EQUAL', array(value))],
  ]),
  ...[...SIZES, 1501].map((length) => where('f', 'EQUAL', bytes(length))),
  ...[749, 750].map((length) => where('f', 'EQUAL', array(long(749), long(length)))),
  ...[1497, 1498].map((length) => where('f', 'EQUAL', map({ k: long(length) }))),
  ...[1400, 1500].map((length) => where('f', 'EQUAL', reference(`c/${'x'.repeat(length)}`))),
  where('f', 'IN', array(...times(30, (i) => text(`${i}${'x'.repeat(98)}`)))),
];

const ints = (length: number): JsonObject => array(...times(length, int));
const onFields = (length: number, op: string): JsonObject => every(...times(length, (i) => where(`f${i}`, op, int(i))));
const filters: readonly JsonObject[] = [
  ...[30, 31].map((length) => where('f', 'IN', ints(length))),
  every(where('f', 'IN', ints(6)), where('g', 'IN', ints(6))),
  ...[array(), int(1), array(NULL, NAN), array(array(int(1)))].map((value) => where('f', 'IN', value)),
  ...[100, 101].flatMap((length) => [
    onFields(length, 'EQUAL'),
    every(...times(length, (i) => where('f', 'GREATER_THAN', int(i)))),
  ]),
  ...[10, 11].map((length) => onFields(length, 'GREATER_THAN')),
  ...[every(), { compositeFilter: { filters: [where('f', 'EQUAL', int(1))] } }, {}],
  ...[{ fieldFilter: { ...field('f'), op: 'EQUAL' } }, { fieldFilter: { ...field('f'), value: int(1) } }],
  ...['f', '__name__'].map((path) => unary(path, 'IS_NULL')),
  ...[text('10'), reference('a/10'), reference('b/10'), reference('a'), otherReference].map((value) =>
    where('__name__', 'EQUAL', value),
  ),
  where('__name__', 'IN', array(reference('a/10'), reference('a/11'))),
  every(where('f', 'GREATER_THAN', int(0)), where('g', 'LESS_THAN', int(9))),
  every(where('f', 'GREATER_THAN', int(9)), where('f', 'LESS_THAN', int(0))),
  every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN', text('b'))),
  ...['__x__', 'f.__x__', 'f.__name__', 'p'.repeat(1501)].map((path) => where(path, 'EQUAL', int(1))),
  ...[{}, time('253402300800'), { referenceValue: 'x' }].map((value) => where('f', 'EQUAL', value)),
];

const queries: readonly JsonObject[] = [
  { ...by('f'), ...startAt(int(1), reference('a/10')) },
  startAt(reference('a/10')),
  { ...by('f', '__name__'), ...startAt(int(1), reference('a/10')) },
  ...[text('10'), otherReference, reference('b'), reference('b/1')].map((value) => ({
    ...by('__name__'),
    ...startAt(value),
  })),
  ...[startAt(), startAt(long(1500)), { startAt: { values: [int(2)] }, endAt: { values: [int(1)] } }].map((cursor) => ({
    ...by('f'),
    ...cursor,
  })),
  ...[by('f', 'f'), by('__name__', 'f'), byDescending('__name__'), byDescending('f', '__name__')],
  byDescending('__name__', '__name__'),
  { orderBy: [order('f'), order('f', 'DESCENDING')] },
  { orderBy: [order('f'), order('__name__', 'DESCENDING')] },
  ...[where('__name__', 'GREATER_THAN', reference('a/1')), where('f', 'EQUAL', int(1))].map((filter) => ({
    where: filter,
    ...byDescending('__name__'),
  })),
  ...['f', '__name__'].flatMap((path) =>
    ['GREATER_THAN', 'EQUAL'].map((op) => ({ where: where('g', op, int(0)), ...by(path) })),
  ),
  { where: where('f', 'EQUAL', int(1)), ...by('f') },
  { where: onFields(99, 'EQUAL'), ...by('x', 'y') },
  ...['__x__', ...[20, 21].map((length) => times(length, () => 'k').join('.'))].map((path) => by(path)),
  ...[limit(0), limit(-1)],
  ...[select(), select('__name__'), select('f', 'f'), select(''), select('__x__')],
  ...[{ from: [{ collectionId: 'a' }, { collectionId: 'b' }] }, { from: [] }, { from: [{}] }, group('a')],
  { ...group('a'), ...byDescending('__name__') },
  ...[{ where: where('f', 'EQUAL', int(1)) }, by('f'), byDescending('__name__')].map((rest) => ({
    ...kindless,
    ...rest,
  })),
  { ...kindless, where: where('__name__', 'GREATER_THAN', reference('a/10')) },
  ...['.', '..', '__x__', 'c'.repeat(1500), 'c'.repeat(1501), 'a/1/b', ''].map(collection),
];

const aggregations: readonly Operation[] = [
  ...[{}, limit(2), limit(0), limit(-1), by('g'), select('g')].map((rest) => aggregate([count()], rest)),
  aggregate([]),
  ...[[count('x'), count(), count()], [count('field_1'), count()], [{ alias: 'x' }]].map((each) => aggregate(each)),
  ...['__x__', '`a b`', 'a b', 'a'.repeat(1500), 'a'.repeat(1501)].map((alias) => aggregate([count(alias)])),
  ...[5, 6].map((length) => aggregate(times(length, (i) => count(`c${i}`)))),
];

const names: readonly string[] = [
  ...['.', '..', '__', '____', '__\n__', '__x__', 'x \n y', 'x\0y', ''].map((id) => `a/${id}`),
  'a/__idx__',
  ...['x'.repeat(1500), 'x'.repeat(1501), '€'.repeat(501)].map((id) => `a/${id}`),
  ...['', '__x__', '.', 'c'.repeat(1501)].map((id) => `${id}/1`),
  ...['a', 'a/1/'],
  ...[100, 101].map((length) => times(length, (i) => `c/${i}`).join('/')),
];

const fieldPaths: readonly string[] = [
  ...['', '__x__', '__name__', '`x.y`', '``', '`x', 'x-y', '1a', 'a..b', 'a.', '*', 'p'.repeat(1500), 'p'.repeat(1501)],
  ...[`${'p'.repeat(750)}.${'q'.repeat(750)}`, times(21, () => 'k').join('.')],
];

/** Cases of several calls, each with what it is about. */
const scripts: Readonly<Record<string, readonly Operation[]>> = {
  'the order of all values': [
    fill(...ALL_VALUES),
    query(by('f')),
    query(byDescending('f')),
    query({ ...by('f'), startAt: { values: [text('')], before: true }, endAt: { values: [array()] } }),
  ],
  'the order of strings that agree in their first 1,500 bytes': [
    fill(long(1502, 'b'), long(1502, 'a'), long(1500), long(1501), long(1499)),
    query(by('f')),
    query(byDescending('f')),
  ],
  'the order of documents of several depths': [
    commit(...['b/1', 'a/1/b/1', 'a/1/b/0', 'a/2/b/1'].map((path) => update(path))),
    ...[group('b'), collection('b'), kindless, { from: [] }, { from: [{}] }].flatMap((each) => [
      query(each),
      query(each, `${DOCUMENTS}/a/1`),
    ]),
  ],
  'a write that changes nothing but the order of the keys': [
    set('a/1', { f: int(1), g: map({ a: int(1), b: int(2) }) }),
    set('a/1', { g: map({ b: int(2), a: int(1) }), f: int(1) }),
    get('a/1'),
  ],
  'update times': [
    set('a/1', { f: int(1) }),
    set('a/1', { f: int(2) }, updated('$time:0+1')),
    set('a/1', { f: int(2) }),
    set('a/1', { f: int(3) }, updated('$time:0')),
    set('a/1', { f: int(3) }, updated('$time:2')),
    ...[{ nanos: 1 }, { nanos: -1 }, { seconds: '253402300800' }].map((wrong) =>
      set('a/1', {}, updated({ seconds: '1000000000', ...wrong })),
    ),
    set('a/1', {}, { currentDocument: {} }),
  ],
  'an update time that is the time of the deletion': [
    set('a/1'),
    commit(update('a/2'), remove('a/1')),
    set('a/1', {}, updated('$time:1')),
  ],
  'writes that do nothing': [
    set('a/1'),
    commit(),
    commit({}),
    commit({ verify: `${DOCUMENTS}/a/1`, ...exists(true) }),
    get('a/1'),
  ],
  'a filter with a time that is finer than a microsecond': [
    set('a/1', { f: time('1', 123_456_789) }),
    query({ where: where('f', 'EQUAL', time('1', 123_456_789)) }),
  ],
  '501 writes': [commit(...times(501, (i) => update(`a/${i}`, { f: int(i) })))],
  'a document of another database': [
    commit({ update: { name: OTHER, fields: {} } }),
    inDatabase('BatchGetDocuments', { documents: [OTHER] }),
  ],
  'a document over 1 MiB': [set('a/1', { f: long(700_000), g: long(400_000) })],
  'a commit over 4 MiB': [commit(...times(6, (i) => update(`a/${i}`, { f: long(800_000) })))],
  'a commit over 10 MiB': [commit(...times(14, (i) => update(`a/${i}`, { f: long(800_000) })))],
  'over 40,000 index entries': [set('a/1', { f: array(...times(20_001, int)) })],
  'bytes that are no message': [{ ...commit(), bytes: Buffer.from([0xff, 0xff, 0xff]).toString('base64') }],
  'malformed databases': [
    ...[undefined, '', 'x', 'projects/p', 'projects/p/databases', 'projects//databases/(default)', DOCUMENTS],
  ].flatMap((database) =>
    [commit(), begin(), get('a/1')].map(({ rpc, request }) => call(rpc, { ...request, database })),
  ),
  'reads of no documents, and of one twice': [set('a/1', { f: int(1) }), get(), get('a/1', 'a/1', 'a/2')],
  'listings of collections': [
    commit(...['a/1', 'b/1', 'a/1/s/1', 'a/1/s/1/t/1'].map((path) => update(path))),
    ...[{}, { pageSize: -1 }, { pageToken: 'x' }, { parent: 'x' }].map(listIds),
    ...['a/1', 'a/none', 'a'].map((path) => listIds({ parent: `${DOCUMENTS}/${path}` })),
  ],
  'an unknown transaction': [commit(), get('a/1'), query()]
    .map((each) => within(each, '$tx:9'))
    .concat(rollback('$tx:9')),
  'a malformed write in a transaction that has ended': [begin(), rollback(), within(set('a/__x__'))],
  'a transaction without options': [begin({}), within(set('a/1'))],
  'a write in a read-only transaction': [begin({ readOnly: {} }), within(set('a/1'))],
  'a read-only transaction beside a write': [
    begin({ readOnly: {} }),
    within(get('a/1')),
    set('a/1', { f: int(1) }),
    within(get('a/1')),
    within(query()),
    within(commit()),
  ],
  'a rollback after a commit': [begin(), within(set('a/1')), rollback()],
  'a rollback after a rollback': [begin(), rollback(), rollback()],
  'a commit after a commit that failed': [
    begin(),
    within(set('a/1', {}, exists(true))),
    within(set('a/2')),
    quietly(rollback()),
  ],
  'a transaction begun by a read': [read(['a/1'], { newTransaction: { readWrite: {} } }), within(set('a/1'))],
  'a transaction of another database': [
    begin(),
    within(call('Commit', { database: 'projects/other/databases/(default)', writes: [] })),
    quietly(rollback()),
  ],
  'a transaction that reads no documents': [begin(), within(get()), quietly(rollback())],
  'a transaction that queries all collections': [begin(), within(query(kindless)), quietly(rollback())],
  'reads at earlier times': [
    set('a/1', { f: int(1) }),
    get('a/1'),
    set('a/1', { f: int(2) }),
    ...['$read:1', '$ago:59', '$ago:61', { seconds: '1700000000', nanos: 1 }, { seconds: '9000000000' }].flatMap(
      (readTime) => [read(['a/1'], { readTime }), begin({ readOnly: { readTime } })],
    ),
    read(['a/1'], { readTime: { seconds: '1000000000' } }),
  ],
  'queries at an earlier time': [
    commit(...times(3, (i) => update(`a/${i}`, { f: int(i) }))),
    query(),
    commit(update('a/0', { f: int(10) }), remove('a/1'), update('a/3', { f: int(3) })),
    set('a/1', { f: int(20) }),
    ...[
      ...[query(), query({ where: where('f', 'GREATER_THAN', int(0)), ...byDescending('f') }), query(group('a'))],
      ...[get('a/0', 'a/1', 'a/2', 'a/3'), aggregate([count()])],
    ].map(({ rpc, request }) => call(rpc, { ...request, readTime: '$read:1' })),
    begin({ readOnly: { readTime: '$read:1' } }),
    within(query(), '$tx:9'),
    query(),
  ],
};

/** All scripted cases. */
export const cases: readonly Case[] = [
  ...rows('stored value', storedValues, (value) => [set('a/1', { f: value }), get('a/1')]),
  ...rows('compared value', ALL_VALUES, (value) => [
    fill(...ALL_VALUES),
    ...['EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'].map((op) => query({ where: where('f', op, value) })),
    query({ where: where('f', 'IN', array(Object.hasOwn(value, 'arrayValue') ? int(1) : value)) }),
  ]),
  ...rows('size of a filter', sizedFilters, (filter) => [set('a/1', { f: long(1500) }), query({ where: filter })]),
  ...rows('filter', filters, (filter) => [
    fill(int(1), int(2), array(int(1), int(2)), NULL, NAN, text('a')),
    set('a/99', { g: int(2) }),
    query({ where: filter }),
  ]),
  ...rows('query', queries, (structuredQuery) => [
    commit(...[1, 3, 2].map((f, i) => update(`a/${i + 10}`, { f: int(f), g: int(-f) }))),
    query(structuredQuery),
  ]),
  ...rows('parent', ['', 'x', '$db', ...['a', 'a/__x__', 'a/1'].map((path) => `${DOCUMENTS}/${path}`)], (parent) => [
    query({}, parent),
  ]),
  ...rows('aggregation', aggregations, (operation) => [
    commit(update('a/1', { g: int(5) }), update('a/2', { f: int(1), g: int(6) })),
    commit(update('a/3', { f: int(2) }), update('a/4', { f: text('x'), g: int(7) })),
    operation,
  ]),
  ...rows('name', names, (path) => [set(path, { f: int(1) }), get(path), commit(remove(path))]),
  ...rows('field path', fieldPaths, (path) => [
    set('a/1', { f: int(1), 'x.y': int(2) }),
    set('a/1', { f: int(3) }, mask(path)),
    get('a/1'),
  ]),
  ...Object.entries(scripts).map(([title, operations]) => ({ title, operations })),
];
