import type { JsonObject } from './protocol';
import type { Operation } from './sequence';

/** A scripted case: what random sequences would meet too seldom. */
export interface Case {
  readonly title: string;
  readonly operations: readonly Operation[];
}

const DOCUMENTS = '$db/documents';

const int = (value: number | string): JsonObject => ({ integerValue: String(value) });
const double = (doubleValue: number | string): JsonObject => ({ doubleValue });
const text = (stringValue: string): JsonObject => ({ stringValue });
const array = (...values: JsonObject[]): JsonObject => ({ arrayValue: { values } });
const map = (fields: JsonObject): JsonObject => ({ mapValue: { fields } });
const bytes = (length: number): JsonObject => ({ bytesValue: Buffer.alloc(length, 1).toString('base64') });
const reference = (path: string): JsonObject => ({ referenceValue: `${DOCUMENTS}/${path}` });
const time = (seconds: string, nanos = 0): JsonObject => ({ timestampValue: { seconds, nanos } });
const NULL: JsonObject = { nullValue: 'NULL_VALUE' };

const call = (rpc: string, request: JsonObject): Operation => ({ rpc, request });
const commit = (writes: readonly JsonObject[], rest: JsonObject = {}): Operation =>
  call('Commit', { database: '$db', writes, ...rest });
const update = (path: string, fields: JsonObject, rest: JsonObject = {}): JsonObject => ({
  update: { name: `${DOCUMENTS}/${path}`, fields },
  ...rest,
});
const set = (path: string, fields: JsonObject, rest: JsonObject = {}): Operation =>
  commit([update(path, fields, rest)]);
const remove = (path: string): JsonObject => ({ delete: `${DOCUMENTS}/${path}` });
const get = (...paths: string[]): Operation =>
  call('BatchGetDocuments', { database: '$db', documents: paths.map((path) => `${DOCUMENTS}/${path}`) });
const field = (fieldPath: string): JsonObject => ({ field: { fieldPath } });
const where = (fieldPath: string, op: string, value: JsonObject): JsonObject => ({
  fieldFilter: { field: { fieldPath }, op, value },
});
const unary = (fieldPath: string, op: string): JsonObject => ({ unaryFilter: { field: { fieldPath }, op } });
const every = (...filters: JsonObject[]): JsonObject => ({ compositeFilter: { op: 'AND', filters } });
const some = (...filters: JsonObject[]): JsonObject => ({ compositeFilter: { op: 'OR', filters } });
const order = (fieldPath: string, direction = 'ASCENDING'): JsonObject => ({ ...field(fieldPath), direction });
const query = (structuredQuery: JsonObject, parent = DOCUMENTS): Operation =>
  call('RunQuery', { parent, structuredQuery: { from: [{ collectionId: 'a' }], ...structuredQuery } });
const aggregate = (aggregations: readonly JsonObject[], structuredQuery: JsonObject = {}): Operation =>
  call('RunAggregationQuery', {
    parent: DOCUMENTS,
    structuredAggregationQuery: {
      structuredQuery: { from: [{ collectionId: 'a' }], ...structuredQuery },
      aggregations,
    },
  });
const sum = (path: string, alias = ''): JsonObject => ({ sum: field(path), alias });
const average = (path: string, alias = ''): JsonObject => ({ avg: field(path), alias });
const count = (alias = ''): JsonObject => ({ count: {}, alias });
const begin = (options: JsonObject = { readWrite: {} }): Operation =>
  call('BeginTransaction', { database: '$db', options });
const rollback = (transaction = '$tx:0'): Operation => call('Rollback', { database: '$db', transaction });
const quietly = (operation: Operation): Operation => ({ ...operation, quiet: true });
const inTransaction = ({ rpc, request }: Operation, transaction = '$tx:0'): Operation => ({
  rpc,
  request: { ...request, transaction },
});
const nest = (depth: number): JsonObject => (depth === 0 ? int(1) : map({ k: nest(depth - 1) }));
const times = <T>(length: number, create: (i: number) => T): T[] => Array.from({ length }, (_, i) => create(i));

const fill = (...values: JsonObject[]): Operation =>
  commit(values.map((value, i) => update(`a/${String(i + 10)}`, { f: value })));

/** One case for each row of a table. */
const table = <T>(rows: Readonly<Record<string, T>>, toOperations: (row: T) => readonly Operation[]): Case[] =>
  Object.entries(rows).map(([title, row]) => ({ title, operations: toOperations(row) }));

const storedValues = table<JsonObject>(
  {
    'a value without a type': {},
    'an array in an array': array(array()),
    'an array in a map in an array': array(map({ k: array(int(1)) })),
    'a timestamp before year 1': time('-62135596801'),
    'the last timestamp': time('253402300799', 999_999_999),
    'a timestamp after year 9999': time('253402300800'),
    'a timestamp with negative nanoseconds': time('0', -1),
    'a timestamp with a second of nanoseconds': time('0', 1_000_000_000),
    'a latitude out of range': { geoPointValue: { latitude: 90.1, longitude: 0 } },
    'a longitude out of range': { geoPointValue: { latitude: 0, longitude: -180.1 } },
    'a latitude that is no number': { geoPointValue: { latitude: 'NaN', longitude: 0 } },
    'a reference to nothing': { referenceValue: '' },
    'a reference to a collection': reference('a'),
    'a reference to a relative name': { referenceValue: 'a/1' },
    'a reference to the database': { referenceValue: '$db' },
    'a reference to another database': { referenceValue: 'projects/other/databases/x/documents/a/1' },
    'a reference with a reserved id': reference('a/__x__'),
    'a string of 1,048,487 bytes': text('x'.repeat(1_048_487)),
    'a string of 1,048,488 bytes': text('x'.repeat(1_048_488)),
    'bytes of 1,048,488 bytes': bytes(1_048_488),
    'maps nested 19 levels deep': nest(19),
    'maps nested 20 levels deep': nest(20),
    'maps nested 21 levels deep': nest(21),
    'a map with a reserved key': map({ __x__: int(1) }),
    'a map with an empty key': map({ '': int(1) }),
    'a map with the key __name__': map({ __name__: int(1) }),
    'a map whose key is 1,500 bytes long': map({ ['k'.repeat(1500)]: int(1) }),
    'a map whose key is 1,501 bytes long': map({ ['k'.repeat(1501)]: int(1) }),
    'an array of every scalar': array(
      int(1),
      double(1),
      text(''),
      NULL,
      { booleanValue: true },
      bytes(0),
      time('1', 1),
    ),
  },
  (value) => [set('a/1', { f: value }), get('a/1')],
);

const ALL_VALUES: readonly JsonObject[] = [
  NULL,
  { booleanValue: false },
  { booleanValue: true },
  double('NaN'),
  double('-Infinity'),
  int('-9223372036854775808'),
  double('-0'),
  int(0),
  double(5e-324),
  int(1),
  double(1),
  double(1.5),
  int('9007199254740993'),
  double(9007199254740992),
  int('9223372036854775807'),
  double(9223372036854775808),
  double('Infinity'),
  time('-1', 999_999_000),
  time('0'),
  text(''),
  text('\0'),
  text('a'),
  text('é'),
  text('\ud7ff'),
  text('\uffff'),
  text('\u{10000}'),
  bytes(0),
  bytes(1),
  reference('a/1'),
  reference('a/__id7__'),
  reference('a/__id10__'),
  reference('a/1/b/1'),
  { referenceValue: 'projects/other/databases/(default)/documents/a/1' },
  { geoPointValue: { latitude: -1, longitude: 2 } },
  { geoPointValue: { latitude: 0, longitude: 0 } },
  array(),
  array(int(1)),
  array(int(1), int(2)),
  array(text('a')),
  map({}),
  map({ a: int(1) }),
  map({ a: int(1), b: int(1) }),
  map({ a: int(2) }),
  map({ b: int(0) }),
];

const long = (length: number, end = ''): JsonObject => text('x'.repeat(length - end.length) + end);

const orderOfValues: Case[] = [
  {
    title: 'the order of all values',
    operations: [
      fill(...ALL_VALUES),
      query({ orderBy: [order('f')] }),
      query({ orderBy: [order('f', 'DESCENDING')] }),
      query({ orderBy: [order('f')], startAt: { values: [text('')], before: true }, endAt: { values: [array()] } }),
    ],
  },
  {
    title: 'the order of strings that agree in their first 1,500 bytes',
    operations: [
      fill(long(1502, 'b'), long(1502, 'a'), long(1500), long(1501), long(1499)),
      query({ orderBy: [order('f')] }),
      query({ orderBy: [order('f', 'DESCENDING')] }),
    ],
  },
  {
    title: 'the order of documents of several depths',
    operations: [
      commit(
        ['b/1', 'a/1/b/1', 'a/1/b/0', 'b/__id7__', 'b/__id10__', 'b/__id-1__', 'a/2/b/1'].map((path) =>
          update(path, {}),
        ),
      ),
      query({ from: [{ collectionId: 'b', allDescendants: true }] }),
      query({ from: [{ collectionId: 'b' }] }),
      query({ from: [{ collectionId: 'b' }] }, `${DOCUMENTS}/a/1`),
      query({ from: [{ collectionId: 'b', allDescendants: true }] }, `${DOCUMENTS}/a/1`),
      query({ from: [{ allDescendants: true }] }),
      query({ from: [{ allDescendants: true }] }, `${DOCUMENTS}/a/1`),
      query({ from: [] }),
    ],
  },
  ...ALL_VALUES.map((value, i): Case => ({
    title: `equality and ranges with ${JSON.stringify(value).slice(0, 60)} (${i})`,
    operations: [
      fill(...ALL_VALUES),
      ...['EQUAL', 'NOT_EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'].map((op) =>
        query({ where: where('f', op, value) }),
      ),
      query({ where: where('f', 'IN', array(...(Object.hasOwn(value, 'arrayValue') ? [int(1)] : [value, int(7)]))) }),
    ],
  })),
];

const LONG_STRINGS = { 1499: long(1499), 1500: long(1500) };

const filterSizes: Case[] = Object.entries(LONG_STRINGS).flatMap(([length, value]) => [
  ...['EQUAL', 'NOT_EQUAL', 'LESS_THAN', 'ARRAY_CONTAINS'].map((op) => ({
    title: `${op} a string of ${length} bytes`,
    operations: [set('a/1', { f: value }), query({ where: where('f', op, value) })],
  })),
  ...['IN', 'NOT_IN', 'ARRAY_CONTAINS_ANY'].map((op) => ({
    title: `${op} with a string of ${length} bytes`,
    operations: [query({ where: where('f', op, array(int(1), value)) })],
  })),
  { title: `equal to ${length} bytes`, operations: [query({ where: where('f', 'EQUAL', bytes(Number(length))) })] },
  {
    title: `equal to an array with ${length} bytes`,
    operations: [query({ where: where('f', 'EQUAL', array(value)) })],
  },
  {
    title: `equal to a map with ${length} bytes`,
    operations: [query({ where: where('f', 'EQUAL', map({ k: value })) })],
  },
  {
    title: `a cursor of ${length} bytes`,
    operations: [query({ orderBy: [order('f')], startAt: { values: [value] } })],
  },
]);

const filters = table<JsonObject>(
  {
    '30 disjunctions': where('f', 'IN', array(...times(30, int))),
    '31 disjunctions': where('f', 'IN', array(...times(31, int))),
    '6 × 6 disjunctions': every(where('f', 'IN', array(...times(6, int))), where('g', 'IN', array(...times(6, int)))),
    'not-in with 10 values': where('f', 'NOT_IN', array(...times(10, int))),
    'not-in with 11 values': where('f', 'NOT_IN', array(...times(11, int))),
    'in with no value': where('f', 'IN', array()),
    'in with a value that is no array': where('f', 'IN', int(1)),
    'in with null and NaN': where('f', 'IN', array(NULL, double('NaN'))),
    'in with an array in it': where('f', 'IN', array(array(int(1)))),
    'not-in with null': where('f', 'NOT_IN', array(NULL, int(1))),
    'array-contains-any with an array in it': where('f', 'ARRAY_CONTAINS_ANY', array(array(int(1)))),
    'array-contains an array': where('f', 'ARRAY_CONTAINS', array(int(1))),
    '100 filters': every(...times(100, (i) => where('f', 'GREATER_THAN', int(i)))),
    '101 filters': every(...times(101, (i) => where('f', 'GREATER_THAN', int(i)))),
    'two not-equal': every(where('f', 'NOT_EQUAL', int(1)), where('f', 'NOT_EQUAL', int(2))),
    'not-equal and not-in': every(where('f', 'NOT_EQUAL', int(1)), where('f', 'NOT_IN', array(int(2)))),
    'not-in and in': every(where('f', 'NOT_IN', array(int(1))), where('g', 'IN', array(int(2)))),
    'not-equal and in': every(where('f', 'NOT_EQUAL', int(1)), where('g', 'IN', array(int(2), int(3)))),
    'not-in in a disjunction': some(where('f', 'NOT_IN', array(int(1))), where('g', 'EQUAL', int(2))),
    'not-equal in a disjunction': some(where('f', 'NOT_EQUAL', int(1)), where('g', 'EQUAL', int(2))),
    'two array-contains': every(where('f', 'ARRAY_CONTAINS', int(1)), where('f', 'ARRAY_CONTAINS', int(2))),
    'array-contains and array-contains-any': every(
      where('f', 'ARRAY_CONTAINS', int(1)),
      where('g', 'ARRAY_CONTAINS_ANY', array(int(2))),
    ),
    'array-contains in each of two disjunctions': some(
      where('f', 'ARRAY_CONTAINS', int(1)),
      where('g', 'ARRAY_CONTAINS', int(2)),
    ),
    'an empty composite': every(),
    'a composite of one': some(where('f', 'EQUAL', int(1))),
    'a composite without an operator': { compositeFilter: { filters: [where('f', 'EQUAL', int(1))] } },
    'a filter without a kind': {},
    'a filter without a value': { fieldFilter: { ...field('f'), op: 'EQUAL' } },
    'a filter without an operator': { fieldFilter: { ...field('f'), value: int(1) } },
    'is-null': unary('f', 'IS_NULL'),
    'is-not-null': unary('f', 'IS_NOT_NULL'),
    'is-NaN': unary('f', 'IS_NAN'),
    'is-not-NaN': unary('f', 'IS_NOT_NAN'),
    'two is-not-null': every(unary('f', 'IS_NOT_NULL'), unary('g', 'IS_NOT_NULL')),
    '__name__ is null': unary('__name__', 'IS_NULL'),
    '__name__ is not null': unary('__name__', 'IS_NOT_NULL'),
    '__name__ equal to a string': where('__name__', 'EQUAL', text('10')),
    '__name__ equal to a reference': where('__name__', 'EQUAL', reference('a/10')),
    '__name__ equal to a reference in another collection': where('__name__', 'EQUAL', reference('b/10')),
    '__name__ equal to a reference of another database': where('__name__', 'EQUAL', {
      referenceValue: 'projects/other/databases/(default)/documents/a/1',
    }),
    '__name__ in': where('__name__', 'IN', array(reference('a/10'), reference('a/11'))),
    '__name__ not-in': where('__name__', 'NOT_IN', array(reference('a/10'))),
    '__name__ not-equal': where('__name__', 'NOT_EQUAL', reference('a/10')),
    '__name__ array-contains': where('__name__', 'ARRAY_CONTAINS', reference('a/10')),
    'a range of two fields': every(where('f', 'GREATER_THAN', int(0)), where('g', 'LESS_THAN', int(9))),
    'an empty range': every(where('f', 'GREATER_THAN', int(9)), where('f', 'LESS_THAN', int(0))),
    'a range of two types': every(where('f', 'GREATER_THAN', int(0)), where('f', 'LESS_THAN', text('b'))),
    'a reserved field': where('__x__', 'EQUAL', int(1)),
    'a field path of 1,501 bytes': where('p'.repeat(1501), 'EQUAL', int(1)),
    'a value without a type': where('f', 'EQUAL', {}),
  },
  (filter) => [
    fill(int(1), int(2), array(int(1), int(2)), NULL, double('NaN'), text('a')),
    set('a/99', { g: int(2) }),
    query({ where: filter }),
  ],
);

const NANOSECONDS = time('1', 123_456_789);

/** Times finer than a microsecond, which is what a stored time keeps. */
const fineTimes = table<JsonObject>(
  {
    'equal to a time': { where: where('f', 'EQUAL', NANOSECONDS) },
    'after a time': { where: where('f', 'GREATER_THAN', NANOSECONDS) },
    'not before a time': { where: where('f', 'GREATER_THAN_OR_EQUAL', NANOSECONDS) },
    'one of several times': { where: where('f', 'IN', array(NANOSECONDS)) },
    'equal to a map with a time': { where: where('g', 'EQUAL', map({ k: NANOSECONDS })) },
    'an array that contains a time': { where: where('h', 'ARRAY_CONTAINS', NANOSECONDS) },
    'from a time on': { orderBy: [order('f')], startAt: { values: [NANOSECONDS], before: true } },
  },
  (structuredQuery) => [
    set('a/1', { f: NANOSECONDS, g: map({ k: NANOSECONDS }), h: array(NANOSECONDS) }),
    query(structuredQuery),
    aggregate([count()], structuredQuery),
  ],
);

const queries = table<JsonObject>(
  {
    'more cursor values than orders': { orderBy: [order('f')], startAt: { values: [int(1), reference('a/10')] } },
    'a cursor without an order': { startAt: { values: [reference('a/10')], before: true } },
    'a cursor on the name': {
      orderBy: [order('f'), order('__name__')],
      startAt: { values: [int(1), reference('a/10')] },
    },
    'a cursor on the name that is a string': { orderBy: [order('__name__')], startAt: { values: [text('10')] } },
    'a cursor into another database': {
      orderBy: [order('__name__')],
      startAt: { values: [{ referenceValue: 'projects/other/databases/(default)/documents/a/1' }] },
    },
    'a cursor into another collection': { orderBy: [order('__name__')], startAt: { values: [reference('b/1')] } },
    'an empty cursor': { orderBy: [order('f')], startAt: { values: [] } },
    'cursors that cross': { orderBy: [order('f')], startAt: { values: [int(2)] }, endAt: { values: [int(1)] } },
    'an order named twice': { orderBy: [order('f'), order('f')] },
    'an order after the name': { orderBy: [order('__name__'), order('f')] },
    'descending by name': { orderBy: [order('__name__', 'DESCENDING')] },
    'descending by a field and the name': { orderBy: [order('f', 'DESCENDING'), order('__name__', 'DESCENDING')] },
    'by a field, then descending by name': { orderBy: [order('f'), order('__name__', 'DESCENDING')] },
    'a range on another field than the first order': {
      where: where('g', 'GREATER_THAN', int(0)),
      orderBy: [order('f')],
    },
    'a range, ordered by the name alone': { where: where('f', 'GREATER_THAN', int(0)), orderBy: [order('__name__')] },
    'not-equal with an order of another field': { where: where('g', 'NOT_EQUAL', int(0)), orderBy: [order('f')] },
    'an equality with an order of the same field': { where: where('f', 'EQUAL', int(1)), orderBy: [order('f')] },
    'limit 0': { limit: { value: 0 } },
    'limit -1': { limit: { value: -1 } },
    'offset -1': { offset: -1 },
    'offset past the end': { offset: 100, limit: { value: 1 } },
    'a projection of nothing': { select: { fields: [] } },
    'a projection of the name': { select: { fields: [{ fieldPath: '__name__' }] } },
    'a projection of a field named twice': { select: { fields: [{ fieldPath: 'f' }, { fieldPath: 'f' }] } },
    'a projection of an empty path': { select: { fields: [{ fieldPath: '' }] } },
    'two collections': { from: [{ collectionId: 'a' }, { collectionId: 'b' }] },
    'a kindless query with a filter': { from: [{ allDescendants: true }], where: where('f', 'EQUAL', int(1)) },
    'a kindless query with an order': { from: [{ allDescendants: true }], orderBy: [order('f')] },
    'the collection .': { from: [{ collectionId: '.' }] },
    'the collection ..': { from: [{ collectionId: '..' }] },
    'the collection __x__': { from: [{ collectionId: '__x__' }] },
    'a collection of 1,500 bytes': { from: [{ collectionId: 'c'.repeat(1500) }] },
    'a collection of 1,501 bytes': { from: [{ collectionId: 'c'.repeat(1501) }] },
    'a collection with a slash': { from: [{ collectionId: 'a/1/b' }] },
    'an empty collection': { from: [{ collectionId: '' }] },
  },
  (structuredQuery) => [
    commit([1, 3, 2].map((f, i) => update(`a/${i + 10}`, { f: int(f), g: int(-f) }))),
    query(structuredQuery),
  ],
);

const parents: Case[] = ['', 'x', '$db', `${DOCUMENTS}/a`, `${DOCUMENTS}/a/__x__`, `${DOCUMENTS}/a/1`].map(
  (parent) => ({
    title: `a query below the parent "${parent}"`,
    operations: [query({}, parent)],
  }),
);

const sums = table<readonly JsonObject[]>(
  {
    'integers beyond 64 bits and back': [int('9223372036854775807'), int(1), int(-5)],
    'integers beyond 64 bits': [int('9223372036854775807'), int(1)],
    'integers below 64 bits': [int('-9223372036854775808'), int(-1)],
    'doubles that are not exact': [double(0.1), double(0.2), double(0.3)],
    // Only what is the same in every order: Google's emulator adds in none.
    'doubles beyond the largest': [double(1e308), double(1e308)],
    'integers and doubles': [int(1), double(0.5), int(2)],
    'an integer and a whole double': [int(1), double(1)],
    NaN: [int(1), double('NaN')],
    'infinities of both signs': [double('Infinity'), double('-Infinity')],
    'negative zeros': [double('-0'), double('-0')],
    'what is no number': [int(1), text('a'), NULL, array(int(3))],
    'no numbers': [text('a')],
    'many small doubles': times(10, () => double(0.1)),
    'an exact integer average': [int('9007199254740993'), int('9007199254740993')],
  },
  (values) => [fill(...values), set('a/99', { g: int(1) }), aggregate([sum('f', 's'), average('f', 'v'), count('c')])],
);

const aggregations = table<Operation>(
  {
    'sum with a limit that a document without the field fills': aggregate([sum('f')], { limit: { value: 2 } }),
    'count with a limit': aggregate([count()], { limit: { value: 2 } }),
    'count with an offset': aggregate([count()], { offset: 1 }),
    'sum with an offset and a limit': aggregate([sum('f')], { offset: 1, limit: { value: 1 } }),
    'sum and count of different fields': aggregate([sum('f'), count(), average('g')]),
    'count up to 2': aggregate([{ count: { upTo: { value: 2 } }, alias: '' }]),
    'count up to 0': aggregate([{ count: { upTo: { value: 0 } }, alias: '' }]),
    'count up to -1': aggregate([{ count: { upTo: { value: -1 } }, alias: '' }]),
    'no aggregation': aggregate([]),
    'unnamed aggregations among named ones': aggregate([count('x'), count(), sum('f'), sum('f', 'y'), average('f')]),
    'an alias named twice': aggregate([count('x'), sum('f', 'x')]),
    'an alias as an unnamed one gets': aggregate([count('field_1'), count()]),
    'a reserved alias': aggregate([count('__x__')]),
    'a quoted alias': aggregate([count('`a b`')]),
    'an alias that is no name': aggregate([count('a b')]),
    'an alias of 1,501 bytes': aggregate([count('a'.repeat(1501))]),
    'five aggregations': aggregate(times(5, (i) => count(`c${i}`))),
    'six aggregations': aggregate(times(6, (i) => count(`c${i}`))),
    'an aggregation without a kind': aggregate([{ alias: 'x' }]),
    'the sum of the name': aggregate([sum('__name__')]),
    'the sum of an empty path': aggregate([sum('')]),
    'a sum ordered by the name': aggregate([sum('f')], { orderBy: [order('__name__')] }),
    'a sum ordered by another field': aggregate([sum('f')], { orderBy: [order('g')] }),
    'a sum with an equality of the name': aggregate([sum('f')], {
      where: where('__name__', 'EQUAL', reference('a/1')),
    }),
    'a sum with a projection': aggregate([sum('f')], { select: { fields: [{ fieldPath: 'g' }] } }),
    'a negative limit': aggregate([count()], { limit: { value: -1 } }),
    'limit 0': aggregate([count(), sum('f'), average('f')], { limit: { value: 0 } }),
  },
  (operation) => [
    set('a/1', { g: int(5) }),
    set('a/2', { f: int(1), g: int(6) }),
    set('a/3', { f: int(2) }),
    set('a/4', { f: text('x'), g: int(7) }),
    operation,
  ],
);

const names = table<string>(
  {
    'the id .': 'a/.',
    'the id ..': 'a/..',
    'the id __': 'a/__',
    'the id ____': 'a/____',
    'the id __x__': 'a/__x__',
    'the id __id7__': 'a/__id7__',
    'the id __id0__': 'a/__id0__',
    'the id __id01__': 'a/__id01__',
    'the id __id-5__': 'a/__id-5__',
    'the id __id9223372036854775807__': 'a/__id9223372036854775807__',
    'the id __id9223372036854775808__': 'a/__id9223372036854775808__',
    'the id __idx__': 'a/__idx__',
    'an id of 1,500 bytes': `a/${'x'.repeat(1500)}`,
    'an id of 1,501 bytes': `a/${'x'.repeat(1501)}`,
    'an id of 501 characters of 3 bytes': `a/${'€'.repeat(501)}`,
    'an id with a space and a line': 'a/x \n y',
    'an id with a null': 'a/x\0y',
    'an empty id': 'a/',
    'an empty collection': '/1',
    'a collection __x__': '__x__/1',
    'a collection __id7__': '__id7__/1',
    'a collection .': './1',
    'a collection of 1,501 bytes': `${'c'.repeat(1501)}/1`,
    'a name without a document': 'a',
    'a name that ends in a slash': 'a/1/',
    '100 path elements': times(50, (i) => `c/${i}`).join('/'),
    '102 path elements': times(51, (i) => `c/${i}`).join('/'),
  },
  (path) => [set(path, { f: int(1) }), get(path), commit([remove(path)])],
);

const fieldNames = table<string>(
  {
    'an empty path': '',
    'a reserved name': '__x__',
    'the name': '__name__',
    'a quoted name': '`x.y`',
    'a quoted empty name': '``',
    'an open quote': '`x',
    'a name that needs quotes': 'x-y',
    'a digit first': '1a',
    'two dots': 'a..b',
    'a dot at the end': 'a.',
    'a path of 1,500 bytes': 'p'.repeat(1500),
    'a path of 1,501 bytes': 'p'.repeat(1501),
    'a path of 1,501 bytes in two steps': `${'p'.repeat(750)}.${'q'.repeat(750)}`,
    '21 steps': times(21, () => 'k').join('.'),
    '*': '*',
  },
  (path) => [
    set('a/1', { f: int(1), 'x.y': int(2) }),
    set('a/1', { f: int(3) }, { updateMask: { fieldPaths: [path] } }),
    set('a/1', {}, { updateMask: { fieldPaths: [] }, updateTransforms: [{ fieldPath: path, increment: int(1) }] }),
    get('a/1'),
  ],
);

const transforms = table<readonly JsonObject[]>(
  {
    'a field and its child': [
      { fieldPath: 'm', increment: int(1) },
      { fieldPath: 'm.k', increment: int(1) },
    ],
    'a field twice': [
      { fieldPath: 'f', increment: int(1) },
      { fieldPath: 'f', increment: int(2) },
    ],
    'without a kind': [{ fieldPath: 'f' }],
    'an unspecified server value': [{ fieldPath: 'f', setToServerValue: 'SERVER_VALUE_UNSPECIFIED' }],
    'two server times': [
      { fieldPath: 'f', setToServerValue: 'REQUEST_TIME' },
      { fieldPath: 'm.t', setToServerValue: 'REQUEST_TIME' },
    ],
    'an increment by text': [{ fieldPath: 'f', increment: text('1') }],
    'an increment past 64 bits': [{ fieldPath: 'big', increment: int(1) }],
    'an increment below 64 bits': [{ fieldPath: 'f', increment: int('-9223372036854775808') }],
    'an increment of what is no number': [{ fieldPath: 's', increment: int(1) }],
    'an increment of a missing field': [{ fieldPath: 'none', increment: double(1.5) }],
    'the maximum of an integer and an equal double': [{ fieldPath: 'f', maximum: double(1) }],
    'the maximum with NaN': [{ fieldPath: 'f', maximum: double('NaN') }],
    'the minimum with NaN': [{ fieldPath: 'f', minimum: double('NaN') }],
    'the minimum of zeros': [{ fieldPath: 'zero', minimum: double('-0') }],
    'the maximum of zeros': [{ fieldPath: 'zero', maximum: double('-0') }],
    'the maximum of text': [{ fieldPath: 's', maximum: int(3) }],
    'the minimum by text': [{ fieldPath: 'f', minimum: text('a') }],
    'the minimum of a missing field': [{ fieldPath: 'none', minimum: int(3) }],
    'a union with equal numbers': [{ fieldPath: 'l', appendMissingElements: { values: [double(1), int(2), int(2)] } }],
    'a union with NaN': [{ fieldPath: 'l', appendMissingElements: { values: [double('NaN'), double('NaN'), NULL] } }],
    'a union with what is no array': [{ fieldPath: 'f', appendMissingElements: { values: [int(2)] } }],
    'a union with an array': [{ fieldPath: 'l', appendMissingElements: { values: [array(int(1))] } }],
    'a removal of equal numbers': [{ fieldPath: 'l', removeAllFromArray: { values: [double(1)] } }],
    'a removal from a missing field': [{ fieldPath: 'none', removeAllFromArray: { values: [int(1)] } }],
    'a reserved field': [{ fieldPath: '__x__', increment: int(1) }],
    'below what is no map': [{ fieldPath: 'f.k', increment: int(1) }],
  },
  (updateTransforms) => [
    set('a/1', {
      f: int(1),
      s: text('s'),
      l: array(int(1), text('x')),
      m: map({ k: int(1) }),
      big: int('9223372036854775807'),
      zero: int(0),
    }),
    set('a/1', {}, { updateMask: { fieldPaths: [] }, updateTransforms }),
    get('a/1'),
    set('a/2', {}, { updateTransforms, currentDocument: { exists: false } }),
    get('a/2'),
  ],
);

const writes = table<readonly Operation[]>(
  {
    'set and delete of one document in one commit': [commit([update('a/1', { f: int(1) }), remove('a/1')]), get('a/1')],
    'set twice in one commit': [commit([update('a/1', { f: int(1) }), update('a/1', { g: int(2) })]), get('a/1')],
    'set, then create of one document in one commit': [
      commit([update('a/1', { f: int(1) }), update('a/1', { g: int(2) }, { currentDocument: { exists: false } })]),
      get('a/1'),
    ],
    'create, then update of one document in one commit': [
      commit([
        update('a/1', { f: int(1) }, { currentDocument: { exists: false } }),
        update('a/1', { g: int(2) }, { currentDocument: { exists: true } }),
      ]),
      get('a/1'),
    ],
    'delete, then create of one document in one commit': [
      set('a/1', { f: int(1) }),
      commit([remove('a/1'), update('a/1', { g: int(2) }, { currentDocument: { exists: false } })]),
      get('a/1'),
    ],
    'a write that changes nothing': [set('a/1', { f: int(1) }), set('a/1', { f: int(1) }), get('a/1')],
    'a write that changes nothing but the order of the keys': [
      set('a/1', { f: int(1), g: map({ a: int(1), b: int(2) }) }),
      set('a/1', { g: map({ b: int(2), a: int(1) }), f: int(1) }),
      get('a/1'),
    ],
    'a write of 1 over 1.0': [set('a/1', { f: double(1) }), set('a/1', { f: int(1) }), get('a/1')],
    'a delete of what is not there': [
      commit([remove('a/1')]),
      commit([{ ...remove('a/1'), currentDocument: { exists: true } }]),
    ],
    'an update time above the stored one': [
      set('a/1', { f: int(1) }),
      set('a/1', { f: int(2) }, { currentDocument: { updateTime: '$time:0+1' } }),
    ],
    'an update time below the stored one': [
      set('a/1', { f: int(1) }),
      set('a/1', { f: int(2) }),
      set('a/1', { f: int(3) }, { currentDocument: { updateTime: '$time:0' } }),
      set('a/1', { f: int(3) }, { currentDocument: { updateTime: '$time:1' } }),
    ],
    'an update time that is the time of the deletion': [
      set('a/1', {}),
      commit([update('a/2', {}), remove('a/1')]),
      set('a/1', {}, { currentDocument: { updateTime: '$time:1' } }),
    ],
    'an update time finer than a microsecond': [
      set('a/1', { f: int(1) }),
      set('a/1', { f: int(2) }, { currentDocument: { updateTime: { seconds: '1000000000', nanos: 1 } } }),
    ],
    'an update time with bad nanoseconds': [
      set('a/1', { f: int(2) }, { currentDocument: { updateTime: { seconds: '1000000000', nanos: -1 } } }),
    ],
    'an empty precondition': [set('a/1', { f: int(1) }, { currentDocument: {} })],
    'a write without a kind': [commit([{}])],
    'a write that only verifies': [
      set('a/1', {}),
      commit([{ verify: `${DOCUMENTS}/a/1`, currentDocument: { exists: true } }]),
    ],
    'a write that only transforms': [
      commit([
        {
          transform: {
            document: `${DOCUMENTS}/a/1`,
            fieldTransforms: [{ fieldPath: 'f', increment: int(1) }],
          },
        },
      ]),
      get('a/1'),
    ],
    'a mask without fields': [set('a/1', { f: int(1) }), set('a/1', { f: int(2) }, { updateMask: {} }), get('a/1')],
    'a mask that creates a document': [
      set('a/1', { f: int(1), g: int(2) }, { updateMask: { fieldPaths: ['f'] } }),
      get('a/1'),
    ],
    'a mask with a field and its child': [
      set('a/1', { m: map({ k: int(1), j: int(2) }) }, { updateMask: { fieldPaths: ['m', 'm.k'] } }),
      get('a/1'),
    ],
    'a mask below what is no map': [
      set('a/1', { m: int(1) }),
      set('a/1', { m: map({ k: int(2) }) }, { updateMask: { fieldPaths: ['m.k'] } }),
      get('a/1'),
    ],
    'a mask that removes below a map': [
      set('a/1', { m: map({ k: int(1) }) }),
      set('a/1', {}, { updateMask: { fieldPaths: ['m.k'] } }),
      get('a/1'),
    ],
    'a mask of 101 steps': [set('a/1', {}, { updateMask: { fieldPaths: [times(101, () => 'k').join('.')] } })],
    'no writes': [commit([])],
    '501 writes': [commit(times(501, (i) => update(`a/${i}`, { f: int(i) })))],
    'a document of another database': [
      commit([{ update: { name: 'projects/other/databases/(default)/documents/a/1', fields: {} } }]),
    ],
    'a document over 1 MiB': [set('a/1', { f: text('x'.repeat(700_000)), g: text('y'.repeat(400_000)) })],
    'a commit over 4 MiB': [commit(times(6, (i) => update(`a/${i}`, { f: text('x'.repeat(800_000)) })))],
    'a commit over 10 MiB': [commit(times(14, (i) => update(`a/${i}`, { f: text('x'.repeat(800_000)) })))],
    'over 40,000 index entries': [set('a/1', { f: array(...times(20_001, (i) => int(i))) })],
  },
  (operations) => operations,
);

const BAD_UTF8 = Buffer.from([0xff, 0xfe]);

/** `Commit` of a document with one field, whose value is given as encoded. */
function encodeCommit(database: string, name: string, value: Buffer): string {
  const part = (number: number, content: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = content.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
  };
  const entry = Buffer.concat([part(1, Buffer.from('f')), part(2, value)]);
  const document = Buffer.concat([part(1, Buffer.from(name)), part(2, entry)]);
  return Buffer.concat([part(1, Buffer.from(database)), part(2, part(1, document))]).toString('base64');
}

const RAW = 'projects/raw/databases/(default)';

const requests = table<readonly Operation[]>(
  {
    'invalid UTF-8 in a string': [
      {
        ...call('Commit', { writes: 'a field whose string is ff fe' }),
        bytes: encodeCommit(RAW, `${RAW}/documents/a/utf8`, Buffer.concat([Buffer.from([0x8a, 1, 2]), BAD_UTF8])),
      },
    ],
    'bytes that are no message': [
      { ...call('Commit', { writes: 'ff ff ff' }), bytes: Buffer.from([0xff, 0xff, 0xff]).toString('base64') },
    ],
    'no database': [call('Commit', { writes: [] }), call('BeginTransaction', {}), call('BatchGetDocuments', {})],
    'a malformed database': [
      'x',
      'projects/p',
      'projects/p/databases',
      'projects//databases/(default)',
      '$db/documents',
    ].flatMap((database) => [
      call('Commit', { database, writes: [] }),
      call('BeginTransaction', { database }),
      call('BatchGetDocuments', { database, documents: [`${DOCUMENTS}/a/1`] }),
    ]),
    'a read of another database': [
      call('BatchGetDocuments', { database: '$db', documents: ['projects/other/databases/(default)/documents/a/1'] }),
    ],
    'a read of no documents': [call('BatchGetDocuments', { database: '$db', documents: [] })],
    'a read of one document twice': [set('a/1', { f: int(1) }), get('a/1', 'a/1', 'a/2')],
    'reads with masks': [
      set('a/1', { f: int(1), m: map({ k: int(1), j: int(2) }) }),
      ...[['f'], ['m.k'], ['m', 'm.k'], ['none'], ['__name__'], [], ['x y'], ['']].map((fieldPaths) =>
        call('BatchGetDocuments', { database: '$db', documents: [`${DOCUMENTS}/a/1`], mask: { fieldPaths } }),
      ),
    ],
    'a batch of writes, one of them malformed': [
      call('BatchWrite', { database: '$db', writes: [update('a/1', { f: int(1) }), update('a/__x__', {})] }),
      get('a/1'),
    ],
    'a batch of writes to one document': [
      call('BatchWrite', { database: '$db', writes: [update('a/1', { f: int(1) }), update('a/1', {})] }),
    ],
    'a batch of writes, one of which fails': [
      call('BatchWrite', {
        database: '$db',
        writes: [update('a/1', { f: int(1) }), update('a/2', {}, { currentDocument: { exists: true } })],
      }),
      get('a/1', 'a/2'),
    ],
    'an empty batch of writes': [call('BatchWrite', { database: '$db', writes: [] })],
  },
  (operations) => operations,
);

const list = (rest: JsonObject): Operation => call('ListDocuments', { parent: DOCUMENTS, collectionId: 'a', ...rest });

const listings = table<readonly Operation[]>(
  {
    'the default page': [list({})],
    'pages of 20': [
      list({ pageSize: 20 }),
      list({ pageSize: 20, pageToken: '$token:1' }),
      list({ pageSize: 20, pageToken: '$token:2' }),
    ],
    'a page as long as the list': [list({ pageSize: 40 })],
    'a page longer than the list': [list({ pageSize: 50 })],
    'a negative page': [list({ pageSize: -1 })],
    'a bad token': [list({ pageToken: 'x' })],
    'a mask': [list({ pageSize: 2, mask: { fieldPaths: ['none'] } })],
    'a bad mask': [list({ pageSize: 2, mask: { fieldPaths: ['x y'] } })],
    'documents that are missing': [
      set('a/zz/b/1', {}),
      list({ pageSize: 300, showMissing: true, mask: { fieldPaths: ['none'] } }),
      list({ pageSize: 300, mask: { fieldPaths: ['none'] } }),
    ],
    'by an order': [
      list({ pageSize: 3, orderBy: 'f' }),
      list({ pageSize: 3, orderBy: 'f desc' }),
      list({ orderBy: '__name__ desc' }),
    ],
    'by a bad order': [list({ pageSize: 3, orderBy: 'f down' })],
    'no collection': [list({ collectionId: '', pageSize: 2 })],
    'a reserved collection': [list({ collectionId: '__x__' })],
    'a bad parent': [list({ parent: 'x' }), list({ parent: `${DOCUMENTS}/a` }), list({ parent: '$db' })],
    collections: [
      set('b/1', {}),
      set('a/1/s/1', {}),
      set('a/1/s/1/t/1', {}),
      call('ListCollectionIds', { parent: DOCUMENTS }),
      call('ListCollectionIds', { parent: `${DOCUMENTS}/a/1` }),
      call('ListCollectionIds', { parent: `${DOCUMENTS}/a/none` }),
      call('ListCollectionIds', { parent: `${DOCUMENTS}/a` }),
      call('ListCollectionIds', { parent: DOCUMENTS, pageSize: -1 }),
      call('ListCollectionIds', { parent: DOCUMENTS, pageToken: 'x' }),
      call('ListCollectionIds', { parent: 'x' }),
    ],
  },
  (operations) => [commit(times(40, (i) => update(`a/${100 + i}`, { f: int(-i) }))), ...operations],
);

const singles = table<readonly Operation[]>(
  {
    'a document created with an id of the server': [
      call('CreateDocument', { parent: DOCUMENTS, collectionId: 'a', document: { fields: { f: int(1) } } }),
      list({}),
    ],
    'a document created twice': [
      call('CreateDocument', { parent: DOCUMENTS, collectionId: 'a', documentId: '1', document: {} }),
      call('CreateDocument', { parent: DOCUMENTS, collectionId: 'a', documentId: '1', document: {} }),
    ],
    'a document created with a name': [
      call('CreateDocument', {
        parent: DOCUMENTS,
        collectionId: 'a',
        documentId: '1',
        document: { name: `${DOCUMENTS}/a/2` },
      }),
    ],
    'a document created with a mask': [
      call('CreateDocument', {
        parent: DOCUMENTS,
        collectionId: 'a',
        documentId: '1',
        document: { fields: { f: int(1), g: int(2) } },
        mask: { fieldPaths: ['g'] },
      }),
      get('a/1'),
    ],
    'a document created with a reserved id': [
      call('CreateDocument', { parent: DOCUMENTS, collectionId: 'a', documentId: '__x__', document: {} }),
      call('CreateDocument', { parent: DOCUMENTS, collectionId: '__x__', documentId: '1', document: {} }),
      call('CreateDocument', { parent: DOCUMENTS, collectionId: '', documentId: '1', document: {} }),
    ],
    'documents updated': [
      call('UpdateDocument', { document: { name: `${DOCUMENTS}/a/1`, fields: { f: int(1), g: int(2) } } }),
      call('UpdateDocument', {
        document: { name: `${DOCUMENTS}/a/1`, fields: { f: int(3) } },
        updateMask: { fieldPaths: ['f', 'h'] },
        mask: { fieldPaths: ['f'] },
      }),
      call('UpdateDocument', { document: { name: `${DOCUMENTS}/a/2` }, currentDocument: { exists: true } }),
      call('UpdateDocument', {}),
      get('a/1'),
    ],
    'documents deleted': [
      set('a/1', {}),
      call('DeleteDocument', { name: `${DOCUMENTS}/a/1`, currentDocument: { exists: true } }),
      call('DeleteDocument', { name: `${DOCUMENTS}/a/1`, currentDocument: { exists: true } }),
      call('DeleteDocument', { name: `${DOCUMENTS}/a/1` }),
      call('DeleteDocument', { name: `${DOCUMENTS}/a` }),
      call('DeleteDocument', {}),
    ],
    'documents read': [
      set('a/1', { f: int(1) }),
      call('GetDocument', { name: `${DOCUMENTS}/a/1` }),
      call('GetDocument', { name: `${DOCUMENTS}/a/1`, mask: { fieldPaths: ['none'] } }),
      call('GetDocument', { name: `${DOCUMENTS}/a/2` }),
      call('GetDocument', { name: `${DOCUMENTS}/a` }),
      call('GetDocument', {}),
    ],
  },
  (operations) => operations,
);

const transactions = table<readonly Operation[]>(
  {
    'an unknown transaction': [
      inTransaction(commit([]), '$tx:9'),
      inTransaction(get('a/1'), '$tx:9'),
      rollback('$tx:9'),
      inTransaction(query({}), '$tx:9'),
    ],
    'a transaction without options': [begin({}), inTransaction(commit([update('a/1', {})]))],
    'a write in a read-only transaction': [begin({ readOnly: {} }), inTransaction(commit([update('a/1', {})]))],
    'an empty commit of a read-only transaction': [
      begin({ readOnly: {} }),
      inTransaction(get('a/1')),
      inTransaction(commit([])),
    ],
    'a read-only transaction beside a write': [
      begin({ readOnly: {} }),
      inTransaction(get('a/1')),
      set('a/1', { f: int(1) }),
      inTransaction(get('a/1')),
      inTransaction(query({})),
    ],
    'a commit after a commit': [
      begin(),
      inTransaction(commit([update('a/1', {})])),
      inTransaction(commit([update('a/2', {})])),
      get('a/2'),
    ],
    'a rollback after a commit': [begin(), inTransaction(commit([update('a/1', {})])), rollback()],
    'a rollback after a rollback': [begin(), rollback(), rollback()],
    'a read after a rollback': [begin(), rollback(), inTransaction(get('a/1'))],
    'a query that needs an index, after a rollback': [
      begin(),
      rollback(),
      inTransaction(query({ orderBy: [order('__name__', 'DESCENDING')] })),
      inTransaction(aggregate([count()], { orderBy: [order('__name__', 'DESCENDING')] })),
    ],
    'a commit after a commit that failed': [
      begin(),
      inTransaction(commit([update('a/1', {}, { currentDocument: { exists: true } })])),
      inTransaction(commit([update('a/2', {})])),
      quietly(rollback()),
    ],
    'a transaction begun by a read': [
      call('BatchGetDocuments', {
        database: '$db',
        documents: [`${DOCUMENTS}/a/1`],
        newTransaction: { readWrite: {} },
      }),
      inTransaction(commit([update('a/1', {})])),
    ],
    'a transaction begun by a query': [
      call('RunQuery', {
        parent: DOCUMENTS,
        structuredQuery: { from: [{ collectionId: 'a' }] },
        newTransaction: { readOnly: {} },
      }),
      inTransaction(query({})),
    ],
    'a transaction of another database': [
      begin(),
      { rpc: 'Commit', request: { database: 'projects/other/databases/(default)', writes: [], transaction: '$tx:0' } },
      quietly(rollback()),
    ],
    'a retry of a transaction': [
      begin(),
      rollback(),
      begin({ readWrite: { retryTransaction: '$tx:0' } }),
      inTransaction(commit([]), '$tx:2'),
    ],
    'a retry of an unknown transaction': [begin({ readWrite: { retryTransaction: '$tx:9' } }), quietly(rollback())],
    'a read at an earlier time': [
      set('a/1', { f: int(1) }),
      get('a/1'),
      set('a/1', { f: int(2) }),
      { rpc: 'BatchGetDocuments', request: { database: '$db', documents: [`${DOCUMENTS}/a/1`], readTime: '$read:1' } },
    ],
    'a read at a time finer than a microsecond': [
      call('BatchGetDocuments', {
        database: '$db',
        documents: [`${DOCUMENTS}/a/1`],
        readTime: { seconds: '1700000000', nanos: 1 },
      }),
    ],
    'a read in the future': [
      call('BatchGetDocuments', {
        database: '$db',
        documents: [`${DOCUMENTS}/a/1`],
        readTime: { seconds: '9000000000', nanos: 0 },
      }),
    ],
    'a read long ago': [
      call('BatchGetDocuments', {
        database: '$db',
        documents: [`${DOCUMENTS}/a/1`],
        readTime: { seconds: '1000000000', nanos: 0 },
      }),
    ],
    'a write against a lock that is held': [
      set('a/1', { f: int(1) }),
      begin(),
      inTransaction(get('a/1'), '$tx:1'),
      { ...set('a/1', { f: int(2) }), deadlineMs: 5000 },
      quietly(rollback('$tx:1')),
    ],
  },
  (operations) => operations,
);

const areas: Readonly<Record<string, readonly Case[]>> = {
  'stored values': storedValues,
  'order of values': orderOfValues,
  'filter sizes': filterSizes,
  filters,
  'fine times': fineTimes,
  queries,
  parents,
  sums,
  aggregations,
  names,
  'field paths': fieldNames,
  transforms,
  writes,
  requests,
  listings,
  'single documents': singles,
  transactions,
};

/** All scripted cases, each titled by its area. */
export const cases: readonly Case[] = Object.entries(areas).flatMap(([area, each]) =>
  each.map(({ title, operations }) => ({ title: `${area}: ${title}`, operations })),
);
