import { encodeRequest, type JsonObject } from './protocol';
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
const point = (latitude: number | string, longitude: number): JsonObject => ({
  geoPointValue: { latitude, longitude },
});
const vector = map({ __type__: text('__vector__'), value: array(double(1)) });
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
const batch = (...writes: JsonObject[]): Operation => inDatabase('BatchWrite', { writes });
const update = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  update: { name: `${DOCUMENTS}/${path}`, fields },
  ...rest,
});
const set = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): Operation =>
  commit(update(path, fields, rest));
const remove = (path: string): JsonObject => ({ delete: `${DOCUMENTS}/${path}` });
const transform = (...updateTransforms: JsonObject[]): JsonObject => ({ updateTransforms });
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
const composite = (op: string, filters: readonly JsonObject[]): JsonObject => ({ compositeFilter: { op, filters } });
const every = (...filters: JsonObject[]): JsonObject => composite('AND', filters);
const some = (...filters: JsonObject[]): JsonObject => composite('OR', filters);
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
const sum = (path: string, alias = ''): JsonObject => ({ sum: field(path), alias });
const average = (path: string, alias = ''): JsonObject => ({ avg: field(path), alias });
const count = (alias = '', upTo?: number): JsonObject => ({
  count: upTo === undefined ? {} : { upTo: { value: upTo } },
  alias,
});
const list = (rest: JsonObject = {}): Operation =>
  call('ListDocuments', { parent: DOCUMENTS, collectionId: 'a', ...rest });
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
  ...[...['a/1', 'a/__id7__', 'a/__id10__', 'a/1/b/1'].map(reference), otherReference],
  ...[point(-1, 2), point(0, 0)],
  ...[array(), array(int(1)), array(int(1), int(2)), array(text('a'))],
  ...[map({}), map({ a: int(1) }), map({ a: int(1), b: int(1) }), map({ a: int(2) }), map({ b: int(0) })],
];

const storedValues: readonly JsonObject[] = [
  ...[{}, array(array()), array(map({ k: array(int(1)) })), array(int(1), double(1), text(''), NULL, TRUE, bytes(0))],
  ...[time('-62135596801'), time('-62135596800'), time('253402300799', 999_999_999), time('253402300800')],
  ...[time('0', -1), time('0', 1_000_000_000), array(time('253402300800'))],
  ...[point(90.1, 0), point(0, -180.1), point('NaN', 0), array(point(-90, 180), point(90, -180))],
  map({ k: point(0, -181) }),
  ...['', 'a/1', '$db', DOCUMENTS, `${DOCUMENTS}/a`, `${DOCUMENTS}/a/__x__`, OTHER].map((referenceValue) => ({
    referenceValue,
  })),
  ...[long(1_048_487), long(1_048_488), array(long(1_048_488)), bytes(1_048_488), nest(19), nest(20), nest(21)],
  ...['__x__', '', '__name__', 'k'.repeat(1500), 'k'.repeat(1501)].map((key) => map({ [key]: int(1) })),
  ...[1496, 1498].map((length) => map({ ['k'.repeat(length)]: map({ k: int(1) }) })),
  vector,
];

const SIZES = [1499, 1500];
const sizedFilters: readonly JsonObject[] = [
  ...[...SIZES.map((length) => long(length)), text('é'.repeat(750))].flatMap((value) => [
    ...['EQUAL', 'NOT_EQUAL', 'LESS_THAN', 'ARRAY_CONTAINS'].map((op) => where('f', op, value)),
    ...['IN', 'NOT_IN', 'ARRAY_CONTAINS_ANY'].map((op) => where('f', op, array(int(1), value))),
    where('f', 'EQUAL', array(value)),
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
  ...[30, 31].flatMap((length) => [
    where('f', 'IN', ints(length)),
    some(...times(length, (i) => where('f', 'EQUAL', int(i)))),
  ]),
  every(where('f', 'IN', ints(6)), where('g', 'IN', ints(6))),
  ...[10, 11].map((length) => where('f', 'NOT_IN', ints(length))),
  ...[array(), int(1), array(NULL, NAN), array(array(int(1)))].map((value) => where('f', 'IN', value)),
  ...[array(NULL), array(NULL, int(1)), array(NAN), array(NAN, int(1))].map((value) => where('f', 'NOT_IN', value)),
  where('f', 'ARRAY_CONTAINS_ANY', array(array(int(1)))),
  where('f', 'ARRAY_CONTAINS', array(int(1))),
  ...[100, 101].flatMap((length) => [
    onFields(length, 'EQUAL'),
    every(...times(length, (i) => where('f', 'GREATER_THAN', int(i)))),
  ]),
  ...[10, 11].map((length) => onFields(length, 'GREATER_THAN')),
  every(where('f', 'NOT_EQUAL', int(1)), where('f', 'NOT_EQUAL', int(2))),
  every(where('f', 'NOT_EQUAL', int(1)), where('f', 'NOT_IN', ints(1))),
  every(where('f', 'NOT_EQUAL', int(1)), where('g', 'GREATER_THAN', int(1))),
  every(where('f', 'NOT_EQUAL', int(1)), where('g', 'IN', ints(2))),
  some(where('f', 'NOT_EQUAL', int(1)), unary('g', 'IS_NOT_NULL')),
  some(where('f', 'NOT_EQUAL', int(1)), where('g', 'EQUAL', int(2))),
  ...['IN', 'ARRAY_CONTAINS_ANY'].map((op) => every(where('f', 'NOT_IN', ints(1)), where('g', op, ints(1)))),
  some(where('f', 'NOT_IN', ints(1)), where('g', 'EQUAL', int(2))),
  ...[every, some].flatMap((combine) => [
    combine(where('f', 'ARRAY_CONTAINS', int(1)), where('f', 'ARRAY_CONTAINS', int(2))),
    combine(where('f', 'ARRAY_CONTAINS', int(1)), where('g', 'ARRAY_CONTAINS_ANY', ints(2))),
  ]),
  ...[every(), some(where('f', 'EQUAL', int(1))), { compositeFilter: { filters: [where('f', 'EQUAL', int(1))] } }, {}],
  ...[{ fieldFilter: { ...field('f'), op: 'EQUAL' } }, { fieldFilter: { ...field('f'), value: int(1) } }],
  ...['IS_NULL', 'IS_NOT_NULL', 'IS_NAN', 'IS_NOT_NAN'].map((op) => unary('f', op)),
  every(unary('f', 'IS_NOT_NULL'), unary('g', 'IS_NOT_NULL')),
  ...['IS_NULL', 'IS_NOT_NULL'].map((op) => unary('__name__', op)),
  ...[text('10'), reference('a/10'), reference('b/10'), reference('a'), otherReference].map((value) =>
    where('__name__', 'EQUAL', value),
  ),
  where('__name__', 'IN', array(reference('a/10'), reference('a/11'))),
  where('__name__', 'NOT_IN', array(reference('a/10'))),
  ...['NOT_EQUAL', 'ARRAY_CONTAINS'].map((op) => where('__name__', op, reference('a/10'))),
  every(where('f', 'GREATER_THAN', int(0)), where('g', 'LESS_THAN', int(9))),
  every(where('f', 'GREATER_THAN', int(9)), where('f', 'LESS_THAN', int(0))),
  every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN', text('b'))),
  ...['__x__', 'f.__x__', 'f.__name__', 'p'.repeat(1501)].map((path) => where(path, 'EQUAL', int(1))),
  ...[{}, time('253402300800'), point(91, 0), { referenceValue: 'x' }, vector].map((value) =>
    where('f', 'EQUAL', value),
  ),
];

/** A time with nanoseconds. A stored time keeps only microseconds. */
const FINE = time('1', 123_456_789);
const fineTimes: readonly JsonObject[] = [
  ...['EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL'].map((op) => ({ where: where('f', op, FINE) })),
  { where: where('f', 'IN', array(FINE)) },
  { where: where('g', 'EQUAL', map({ k: FINE })) },
  { where: where('h', 'ARRAY_CONTAINS', FINE) },
  { ...by('f'), ...startAt(FINE) },
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
    ['GREATER_THAN', 'NOT_EQUAL', 'EQUAL'].map((op) => ({ where: where('g', op, int(0)), ...by(path) })),
  ),
  { where: where('f', 'EQUAL', int(1)), ...by('f') },
  { where: onFields(99, 'EQUAL'), ...by('x', 'y') },
  ...['__x__', ...[20, 21].map((length) => times(length, () => 'k').join('.'))].map((path) => by(path)),
  ...[limit(0), limit(-1), { offset: -1 }, { offset: 100, ...limit(1) }],
  ...[select(), select('__name__'), select('f', 'f'), select(''), select('__x__')],
  ...[{ from: [{ collectionId: 'a' }, { collectionId: 'b' }] }, { from: [] }, { from: [{}] }, group('a')],
  { ...group('a'), ...byDescending('__name__') },
  ...[{ where: where('f', 'EQUAL', int(1)) }, by('f'), byDescending('__name__')].map((rest) => ({
    ...kindless,
    ...rest,
  })),
  { ...kindless, where: where('__name__', 'GREATER_THAN', reference('a/10')) },
  ...['.', '..', '__x__', '__id7__', 'c'.repeat(1500), 'c'.repeat(1501), 'a/1/b', ''].map(collection),
];

const sums: readonly (readonly JsonObject[])[] = [
  ...[[int(MAX), int(1), int(-5)], [int(MAX), int(1)], [int(MIN), int(-1)], times(2, () => int('9007199254740993'))],
  // Only what is the same in every order: Google's emulator adds in none.
  ...[[double(0.1), double(0.2), double(0.3)], times(10, () => double(0.1)), [double(1e308), double(1e308)]],
  ...[
    [int(1), double(0.5), int(2)],
    [int(1), double(1)],
    [double('-0'), double('-0')],
  ],
  ...[
    [int(1), NAN],
    [int(1), double('Infinity')],
    [double('Infinity'), double('-Infinity')],
  ],
  ...[[int(1), text('a'), NULL, array(int(3))], [text('a')]],
];

const aggregations: readonly Operation[] = [
  ...[{}, limit(2), { offset: 1 }, { offset: 1, ...limit(1) }, limit(0), limit(-1)].map((rest) =>
    aggregate([count(), sum('f'), average('f')], rest),
  ),
  ...[limit(2), { offset: 1 }].map((rest) => aggregate([count()], rest)),
  aggregate([sum('f'), count(), average('g')]),
  ...[2, 0, -1].map((upTo) => aggregate([count('', upTo)])),
  aggregate([]),
  aggregate([count('x'), count(), sum('f'), sum('f', 'y'), average('f')]),
  aggregate([count('x'), sum('f', 'x')]),
  aggregate([count('field_1'), count()]),
  ...['__x__', '`a b`', 'a b', 'a'.repeat(1500), 'a'.repeat(1501)].map((alias) => aggregate([count(alias)])),
  ...[5, 6].map((length) => aggregate(times(length, (i) => count(`c${i}`)))),
  aggregate([{ alias: 'x' }]),
  ...['__name__', '__x__', ''].map((path) => aggregate([sum(path)])),
  ...[by('__name__'), by('f', '__name__'), by('g'), byDescending('__name__'), select('g')].map((rest) =>
    aggregate([sum('f')], rest),
  ),
  aggregate([sum('f')], { where: where('__name__', 'EQUAL', reference('a/1')) }),
];

const names: readonly string[] = [
  ...['.', '..', '__', '____', '__\n__', '__x__', 'x \n y', 'x\0y', ''].map((id) => `a/${id}`),
  ...['7', '0', '01', '-5', MAX, '9223372036854775808', 'x'].map((id) => `a/__id${id}__`),
  ...['x'.repeat(1500), 'x'.repeat(1501), '€'.repeat(501)].map((id) => `a/${id}`),
  ...['', '__x__', '__id7__', '.', 'c'.repeat(1501)].map((id) => `${id}/1`),
  ...['a', 'a/1/'],
  ...[100, 101].map((length) => times(length, (i) => `c/${i}`).join('/')),
];

const fieldPaths: readonly string[] = [
  ...['', '__x__', '__name__', '`x.y`', '``', '`x', 'x-y', '1a', 'a..b', 'a.', '*', 'p'.repeat(1500), 'p'.repeat(1501)],
  ...[`${'p'.repeat(750)}.${'q'.repeat(750)}`, times(21, () => 'k').join('.')],
];

const increment = (fieldPath: string, by: JsonObject = int(1)): JsonObject => ({ fieldPath, increment: by });
const union = (fieldPath: string, ...values: JsonObject[]): JsonObject => ({
  fieldPath,
  appendMissingElements: { values },
});
const transforms: readonly (readonly JsonObject[])[] = [
  ...[[increment('m'), increment('m.k')], [increment('f'), increment('f', int(2))], [{ fieldPath: 'f' }]],
  [{ fieldPath: 'f', setToServerValue: 'SERVER_VALUE_UNSPECIFIED' }],
  ['f', 'm.t'].map((fieldPath) => ({ fieldPath, setToServerValue: 'REQUEST_TIME' })),
  ...[
    ['f', text('1')],
    ['f', NULL],
    ['big', int(1)],
    ['f', int(MIN)],
    ['s', int(1)],
    ['none', double(1.5)],
  ].map(([path, by]) => [increment(path as string, by as JsonObject)]),
  ...['maximum', 'minimum'].flatMap((kind) => [
    ...[double(1), int(0), double(1.5), NAN, text('a'), map({})].map((value) => [{ fieldPath: 'f', [kind]: value }]),
    ...['s', 'none', 'nan'].map((fieldPath) => [{ fieldPath, [kind]: int(3) }]),
    [{ fieldPath: 'zero', [kind]: double('-0') }],
  ]),
  ...[[double(1), int(2), int(2)], [NAN, NAN, NULL], [array(int(1))]].map((values) => [union('l', ...values)]),
  [union('f', int(2))],
  ...['l', 'none'].map((fieldPath) => [{ fieldPath, removeAllFromArray: { values: [double(1)] } }]),
  ...[[increment('__x__')], [increment('f.k')]],
];

/** Its value is no text in UTF-8. */
function encodeBadText(): Operation {
  const database = 'projects/raw/databases/(default)';
  const document = { name: `${database}/documents/a/1`, fields: { f: text('\u0011\u0012') } };
  const encoded = encodeRequest('Commit', { database, writes: [{ update: document }] }).toString('latin1');
  const bytes = Buffer.from(encoded.replace('\u0011\u0012', '\u00ff\u00fe'), 'latin1').toString('base64');
  return { ...commit(update('a/1', { f: text('the bytes ff fe') })), bytes };
}

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
    commit(
      ...['b/1', 'a/1/b/1', 'a/1/b/0', 'b/__id7__', 'b/__id10__', 'b/__id-1__', 'a/2/b/1'].map((path) => update(path)),
    ),
    ...[group('b'), collection('b'), kindless, { from: [] }, { from: [{}] }].flatMap((each) => [
      query(each),
      query(each, `${DOCUMENTS}/a/1`),
    ]),
  ],
  'the order of inequalities': [
    ...[
      set('a/1', { f: int(2), g: int(1) }),
      set('a/2', { f: int(1), g: int(2) }),
      set('a/3', { f: int(1), g: int(1) }),
    ],
    ...[{}, byDescending('g')].map((rest) =>
      query({ where: every(where('g', 'GREATER_THAN', int(0)), where('f', 'GREATER_THAN', int(0))), ...rest }),
    ),
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
  'a write that only transforms': [
    commit({ transform: { document: `${DOCUMENTS}/a/1`, fieldTransforms: [increment('f')] } }),
    get('a/1'),
  ],
  'operands that are no numbers, before and after preconditions that fail': [
    commit(update('a/1', {}, exists(true)), update('a/2', {}, transform(increment('f', text('1'))))),
    set('a/1', {}, { ...exists(true), ...transform({ fieldPath: 'f', maximum: NULL }) }),
    commit(update('a/2', {}, transform(increment('f', text('1')))), update('a/1', {}, exists(true))),
  ],
  'operands that are no numbers in a batch': [
    ...[increment('f', text('1')), { fieldPath: 'f', minimum: NULL }, { fieldPath: 'f', maximum: map({}) }].map(
      (each) => batch(update('a/1'), update('a/2', {}, transform(each))),
    ),
    get('a/1', 'a/2'),
  ],
  masks: [
    set('a/1', { f: int(1), g: int(2) }, mask('f')),
    set('a/1', { m: map({ k: int(1), j: int(2) }) }, mask('m', 'm.k')),
    set('a/1', { f: map({ k: int(2) }) }, mask('f.k')),
    get('a/1'),
    set('a/1', {}, mask('f.k')),
    set('a/1', { f: int(2) }, { updateMask: {} }),
    set('a/1', {}, mask(times(101, () => 'k').join('.'))),
    get('a/1'),
  ],
  '501 writes': [commit(...times(501, (i) => update(`a/${i}`, { f: int(i) })))],
  'a document of another database': [
    commit({ update: { name: OTHER, fields: {} } }),
    inDatabase('BatchGetDocuments', { documents: [OTHER] }),
  ],
  'the plan of a query': [call('RunQuery', { ...query().request, explainOptions: {} })],
  'a document over 1 MiB': [set('a/1', { f: long(700_000), g: long(400_000) })],
  'a commit over 4 MiB': [commit(...times(6, (i) => update(`a/${i}`, { f: long(800_000) })))],
  'a commit over 10 MiB': [commit(...times(14, (i) => update(`a/${i}`, { f: long(800_000) })))],
  'over 40,000 index entries': [set('a/1', { f: array(...times(20_001, int)) })],
  'text that is not UTF-8, and the character that stands for it': [
    encodeBadText(),
    set('a/1', { f: text('\ufffd') }),
    get('a/1'),
  ],
  'bytes that are no message': [{ ...commit(), bytes: Buffer.from([0xff, 0xff, 0xff]).toString('base64') }],
  'malformed databases': [
    ...[undefined, '', 'x', 'projects/p', 'projects/p/databases', 'projects//databases/(default)', DOCUMENTS],
  ].flatMap((database) =>
    [commit(), begin(), get('a/1')].map(({ rpc, request }) => call(rpc, { ...request, database })),
  ),
  'reads of no documents, and of one twice': [set('a/1', { f: int(1) }), get(), get('a/1', 'a/1', 'a/2')],
  'reads with masks': [
    set('a/1', { f: int(1), m: map({ k: int(1), j: int(2) }) }),
    ...[['f'], ['m.k'], ['m', 'm.k'], ['none'], ['__name__'], [], ['x y'], ['']].map((paths) =>
      read(['a/1'], { mask: { fieldPaths: paths } }),
    ),
  ],
  'listings of documents': [
    commit(...times(40, (i) => update(`a/${100 + i}`, { f: int(-i) }))),
    list(),
    list({ pageSize: 20 }),
    list({ pageSize: 20, pageToken: '$token:2' }),
    list({ pageSize: 20, pageToken: '$token:3' }),
    ...[40, 50, -1].map((pageSize) => list({ pageSize })),
    ...['none', 'x y'].map((path) => list({ pageSize: 2, mask: { fieldPaths: [path] } })),
    ...[{ pageToken: 'x' }, { collectionId: '__x__' }, { parent: 'x' }, { parent: `${DOCUMENTS}/a` }].map(list),
  ],
  'listings of documents that are missing': [
    commit(update('a/1', { f: int(1) }), update('a/2/b/1')),
    list({ showMissing: true, mask: { fieldPaths: ['none'] } }),
    list({ mask: { fieldPaths: ['none'] } }),
  ],
  'listings in an order and of all collections': [
    set('a/1'),
    ...['f', 'f desc', '__name__ desc', 'f down'].map((orderBy) => list({ orderBy })),
    list({ collectionId: '' }),
  ],
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
  'reads after a rollback': [
    begin(),
    rollback(),
    within(get('a/1')),
    within(query(byDescending('__name__'))),
    within(aggregate([count()], byDescending('__name__'))),
  ],
  'a commit after a commit that failed': [
    begin(),
    within(set('a/1', {}, exists(true))),
    within(set('a/2')),
    quietly(rollback()),
  ],
  'a transaction begun by a read': [read(['a/1'], { newTransaction: { readWrite: {} } }), within(set('a/1'))],
  'a transaction begun by a query': [
    call('RunQuery', { ...query().request, newTransaction: { readOnly: {} } }),
    within(query()),
  ],
  'a transaction of another database': [
    begin(),
    within(call('Commit', { database: 'projects/other/databases/(default)', writes: [] })),
    quietly(rollback()),
  ],
  'a transaction that reads no documents': [begin(), within(get()), quietly(rollback())],
  'a transaction that queries all collections': [begin(), within(query(kindless)), quietly(rollback())],
  'a retry of a transaction': [
    begin(),
    rollback(),
    begin({ readWrite: { retryTransaction: '$tx:0' } }),
    within(commit(), '$tx:2'),
  ],
  'a retry of an unknown transaction': [begin({ readWrite: { retryTransaction: '$tx:9' } }), quietly(rollback())],
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
      ...[get('a/0', 'a/1', 'a/2', 'a/3'), aggregate([sum('f'), count()])],
    ].map(({ rpc, request }) => call(rpc, { ...request, readTime: '$read:1' })),
    begin({ readOnly: { readTime: '$read:1' } }),
    within(query(), '$tx:9'),
    query(),
  ],
  'a write against a lock that is held': [
    set('a/1', { f: int(1) }),
    begin(),
    within(get('a/1'), '$tx:1'),
    { ...set('a/1', { f: int(2) }), deadlineMs: 5000 },
    quietly(rollback('$tx:1')),
  ],
};

/** All scripted cases. */
export const cases: readonly Case[] = [
  ...rows('stored value', storedValues, (value) => [set('a/1', { f: value }), get('a/1')]),
  ...rows('compared value', ALL_VALUES, (value) => [
    fill(...ALL_VALUES),
    ...['EQUAL', 'NOT_EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'].map((op) =>
      query({ where: where('f', op, value) }),
    ),
    ...['IN', 'NOT_IN'].map((op) =>
      query({ where: where('f', op, array(Object.hasOwn(value, 'arrayValue') ? int(1) : value)) }),
    ),
  ]),
  ...rows('size of a filter', sizedFilters, (filter) => [set('a/1', { f: long(1500) }), query({ where: filter })]),
  ...rows('filter', filters, (filter) => [
    fill(int(1), int(2), array(int(1), int(2)), NULL, NAN, text('a')),
    set('a/99', { g: int(2) }),
    query({ where: filter }),
  ]),
  ...rows('fine time', fineTimes, (structuredQuery) => [
    set('a/1', { f: FINE, g: map({ k: FINE }), h: array(FINE) }),
    query(structuredQuery),
    aggregate([count()], structuredQuery),
  ]),
  ...rows('query', queries, (structuredQuery) => [
    commit(...[1, 3, 2].map((f, i) => update(`a/${i + 10}`, { f: int(f), g: int(-f) }))),
    query(structuredQuery),
  ]),
  ...rows('parent', ['', 'x', '$db', ...['a', 'a/__x__', 'a/1'].map((path) => `${DOCUMENTS}/${path}`)], (parent) => [
    query({}, parent),
  ]),
  ...rows('sum', sums, (values) => [
    fill(...values),
    set('a/99', { g: int(1) }),
    aggregate([sum('f', 's'), average('f', 'v'), count('c')]),
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
    set('a/1', {}, { ...mask(), ...transform(increment(path)) }),
    get('a/1'),
  ]),
  ...rows('transform', transforms, (updateTransforms) => [
    set('a/1', {
      ...{ f: int(1), s: text('s'), l: array(int(1), text('x')), m: map({ k: int(1) }) },
      ...{ big: int(MAX), zero: int(0), nan: NAN },
    }),
    set('a/1', {}, { ...mask(), updateTransforms }),
    get('a/1'),
    set('a/2', {}, { updateTransforms, ...exists(false) }),
    get('a/2'),
  ]),
  ...Object.entries(scripts).map(([title, operations]) => ({ title, operations })),
];
