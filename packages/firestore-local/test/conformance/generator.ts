import fc from 'fast-check';
import type { JsonObject } from './protocol';
import type { Operation } from './sequence';

/*
 * Random sequences. Names, fields and values come from small pools, so that calls meet; the pools hold what is equal in
 * one type and not in another, what sorts in an unexpected place, and what is refused.
 */

type Random<T = JsonObject> = fc.Arbitrary<T>;

const pick = <T>(...values: readonly T[]): Random<T> => fc.constantFrom(...values);
/** One of several, by their weights. */
const mix = <T>(...options: readonly (readonly [weight: number, arbitrary: Random<T>])[]): Random<T> =>
  fc.oneof(...options.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const maybe = <T>(arbitrary: Random<T>): Random<T | undefined> => fc.option(arbitrary, { nil: undefined, freq: 3 });
const rarely = <T>(arbitrary: Random<T>): Random<T | undefined> => fc.option(arbitrary, { nil: undefined, freq: 8 });

const DOCUMENTS = '$db/documents';

/** Documents of three groups, at two depths. */
const goodName = mix(
  [12, pick('a/1', 'a/2', 'a/3', 'b/1', 'b/é', 'a/1/b/1', 'a/1/b/2', 'a/2/b/1')],
  [2, pick('a/\uffff', 'a/\u{1f600}', 'a/1/b/1/c/x', 'a/10', 'a/Z')],
).map((path) => `${DOCUMENTS}/${path}`);
const badName = pick(
  ...['a', 'a/..', '__a__/1', 'a/__x__', 'a//b'].map((path) => `${DOCUMENTS}/${path}`),
  ...['$db/a/1', 'a/1'],
);
const name = mix([40, goodName], [1, badName]);

const INTEGERS = ['0', '1', '-1', '2', '10', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
const DOUBLES = [0.5, 1, '-0', 'NaN', 'Infinity', '-Infinity', 9007199254740992, 9223372036854775808, 1e-310, -2.5];
const STRINGS = ['', 'a', 'b', 'ab', 'B', 'é', 'e\u0301', '\u{1f600}', '\uffff', 'a\0', '1'];
const TIMES = [
  { seconds: '0', nanos: 0 },
  { seconds: '1000000000', nanos: 123456000 },
  { seconds: '1000000000', nanos: 123456789 },
  { seconds: '-62135596800', nanos: 0 },
];
const integer: Random = pick(...INTEGERS).map((integerValue) => ({ integerValue }));
const double: Random = pick(...DOUBLES).map((doubleValue) => ({ doubleValue }));
const reference: Random = goodName.map((referenceValue) => ({ referenceValue }));
const scalar: Random = mix(
  [5, integer],
  [3, double],
  [5, pick(...STRINGS).map((stringValue) => ({ stringValue }))],
  [2, fc.boolean().map((booleanValue) => ({ booleanValue }))],
  [2, fc.constant({ nullValue: 'NULL_VALUE' })],
  [1, pick(...TIMES).map((timestampValue) => ({ timestampValue }))],
  [1, pick('', 'AA==', 'AQ==', 'AQI=', '/w==').map((bytesValue) => ({ bytesValue }))],
  [1, reference],
);

const mapOf = (item: Random): Random =>
  fc
    .dictionary(pick('k', 'j', 'a', '10', '9'), item, { maxKeys: 3, noNullPrototype: true })
    .map((fields) => ({ mapValue: { fields } }));
const arrayOf = (item: Random, maxLength = 3): Random =>
  fc.array(item, { maxLength }).map((values) => ({ arrayValue: { values } }));

const nested = mix([6, scalar], [1, mapOf(scalar)]);
const value = mix([12, scalar], [3, arrayOf(nested)], [3, mapOf(fc.oneof(scalar, arrayOf(scalar)))]);

/** Values that a stored document must not have. */
const badValue = pick<JsonObject>(
  {},
  { arrayValue: { values: [{ arrayValue: { values: [] } }] } },
  { timestampValue: { seconds: '253402300800', nanos: 0 } },
  { timestampValue: { seconds: '0', nanos: -1 } },
  { referenceValue: 'a/1' },
  { referenceValue: `${DOCUMENTS}/a` },
  { mapValue: { fields: { __x__: { integerValue: '1' } } } },
);

const fields: Random = fc.dictionary(
  mix([6, pick('f', 'g', 'm')], [1, pick('f', 'g', 'h', 'm', 'x.y', 'é', 'Z', '1', 'a`b')]),
  mix([80, value], [1, badValue]),
  { maxKeys: 4, noNullPrototype: true },
);

const goodPath = mix(
  [6, pick('f', 'g', 'm')],
  [2, pick('m.k', 'm.j', 'm.k.a', 'h', '`x.y`', '`é`', 'Z', '`1`', '`a\\`b`')],
);
const path = mix([60, goodPath], [1, pick('', 'a..b', '1', 'x y', '.f', 'f.', '`f', '__x__', 'é')]);
const queryPath = mix([12, path], [1, fc.constant('__name__')]);
const toField = (fieldPath: string): JsonObject => ({ fieldPath });
const mask = maybe(fc.array(path, { maxLength: 2 }).map((fieldPaths) => ({ fieldPaths })));

/** The index of an earlier answer. Most sequences have no more calls than this. */
const answerIndex = fc.nat({ max: 12 });
const currentDocument = rarely(
  mix<JsonObject>(
    [4, fc.boolean().map((exists) => ({ exists }))],
    [2, answerIndex.map((i) => ({ updateTime: `$time:${i}` }))],
    [1, answerIndex.map((i) => ({ updateTime: `$time:${i}+1` }))],
  ),
);

const updateMask = maybe(fc.array(path, { maxLength: 3 }).map((fieldPaths) => ({ fieldPaths })));
const update = fc.record({ name, fields });
const write: Random = mix<JsonObject>(
  [8, fc.record({ update, updateMask, currentDocument })],
  [2, fc.record({ delete: name, currentDocument })],
);
const writes = fc.array(write, { minLength: 1, maxLength: 3 });

const toWriteCall =
  (rpc: string) =>
  (list: readonly JsonObject[]): Operation => ({ rpc, request: { database: '$db', writes: list } });
const toCall =
  (rpc: string) =>
  (request: JsonObject): Operation => ({ rpc, request });

const compare = (op: Random<string>, field: Random<string>, operandOf: Random): Random =>
  fc.record({ op, field: field.map(toField), value: operandOf }).map((fieldFilter) => ({ fieldFilter }));
const RANGES = ['LESS_THAN', 'LESS_THAN_OR_EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL'];
const leaf = mix<JsonObject>(
  [36, compare(pick('EQUAL', 'EQUAL', ...RANGES), queryPath, value)],
  [12, compare(fc.constant('IN'), queryPath, mix([12, arrayOf(nested, 4)], [1, scalar]))],
  [
    6,
    compare(
      pick('EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'),
      fc.constant('__name__'),
      name.map((referenceValue) => ({ referenceValue })),
    ),
  ],
  [3, path.map((fieldPath) => ({ unaryFilter: { op: 'IS_NULL', field: toField(fieldPath) } }))],
);
const compositeOf = (part: Random): Random =>
  fc
    .record({ op: fc.constant('AND'), filters: fc.array(part, { minLength: 1, maxLength: 3 }) })
    .map((compositeFilter) => ({ compositeFilter }));
const filter = mix([6, leaf], [4, compositeOf(leaf)]);

const order = fc.record({
  field: queryPath.map((fieldPath) => ({ fieldPath })),
  direction: pick('ASCENDING', 'DESCENDING', 'ASCENDING', undefined),
});

/** Orders with cursors on them: a cursor's values are of the order's terms, a reference for the name. */
const ordering: Random = fc
  .record({ orderBy: fc.array(order, { maxLength: 2 }), byName: fc.boolean() })
  .chain(({ orderBy, byName }) => {
    const ordered = [...orderBy, ...(byName ? [{ field: { fieldPath: '__name__' } }] : [])];
    const terms = ordered.map(({ field }) => (field.fieldPath === '__name__' ? reference : value));
    const position = fc.record({ values: fc.tuple(...terms), before: fc.boolean() });
    const cursor = terms.length === 0 ? fc.constant(undefined) : fc.option(position, { nil: undefined, freq: 2 });
    return fc.record({ orderBy: fc.constant(ordered), startAt: cursor, endAt: cursor });
  });

const bound = mix([12, fc.nat({ max: 4 })], [1, fc.constant(-1)]);
const from = mix<JsonObject>(
  [8, pick('a', 'b').map((collectionId) => ({ collectionId }))],
  [4, fc.constant({ collectionId: 'b', allDescendants: true })],
  [1, pick<JsonObject>({ allDescendants: true }, {}, { collectionId: 'a/b' }, { collectionId: '__x__' })],
);
const clauses = fc.record({ where: maybe(filter), limit: maybe(bound.map((limit) => ({ value: limit }))) });
const unprojected: Random = fc
  .tuple(from, clauses, fc.oneof(fc.constant({}), ordering))
  .map(([collection, rest, orders]) => ({ from: [collection], ...rest, ...orders }));
const projection = fc
  .array(queryPath.map(toField), { minLength: 1, maxLength: 2 })
  .map((projected) => ({ fields: projected }));

const parent = mix([6, fc.constant(DOCUMENTS)], [2, pick(`${DOCUMENTS}/a/1`, `${DOCUMENTS}/a/2`)]);
const query = fc
  .record({
    parent,
    structuredQuery: fc.tuple(unprojected, rarely(projection)).map(([rest, select]) => ({ ...rest, select })),
  })
  .map(toCall('RunQuery'));

const aggregation: Random = pick('', '', 'x', 'y').map((alias) => ({ count: {}, alias }));
const aggregations = fc.array(aggregation, { minLength: 1, maxLength: 3 });
const aggregationQuery = fc
  .record({ parent, structuredAggregationQuery: fc.record({ structuredQuery: unprojected, aggregations }) })
  .map(toCall('RunAggregationQuery'));

const batchGet = fc
  .record({ database: fc.constant('$db'), documents: fc.array(name, { maxLength: 4 }), mask })
  .map(toCall('BatchGetDocuments'));

/** Calls that belong together; they may refer to each other by the place of the first. */
type Chunk = (at: number) => readonly Operation[];

const alone = (operation: Random<Operation>): Random<Chunk> => operation.map((each) => () => [each]);

const listingPages = fc.nat({ max: 2 }).map((pageSize): Chunk => {
  const request = { parent: DOCUMENTS, pageSize: pageSize + 1 };
  return (at) => [
    { rpc: 'ListCollectionIds', request },
    { rpc: 'ListCollectionIds', request: { ...request, pageToken: `$token:${at}` } },
  ];
});

/** Reads and a commit in one transaction, with reads by others between; no one else writes, so Google's emulator waits for no lock. */
const transaction = fc
  .record({
    reads: fc.array(fc.oneof(batchGet, query, aggregationQuery), { maxLength: 3 }),
    outside: fc.array(fc.oneof(batchGet, query), { maxLength: 1 }),
    readOnly: pick(false, false, true),
    written: writes,
    end: pick('commit', 'commit', 'rollback', 'commit twice', 'rollback then read'),
  })
  .map(({ reads, outside, readOnly, written, end }): Chunk => (at) => {
    const within = ({ rpc, request }: Operation): Operation => ({
      rpc,
      request: { ...request, transaction: `$tx:${at}` },
    });
    const commit = within(toWriteCall('Commit')(readOnly ? [] : written));
    const rollback = within({ rpc: 'Rollback', request: { database: '$db' } });
    const [read = commit] = reads.map(within);
    const ends: Readonly<Record<string, readonly Operation[]>> = {
      commit: [commit],
      rollback: [rollback],
      'commit twice': [commit, commit],
      'rollback then read': [rollback, read],
    };
    const options = readOnly ? { readOnly: {} } : { readWrite: {} };
    const begin = { rpc: 'BeginTransaction', request: { database: '$db', options } };
    // Google's emulator keeps the locks of a transaction whose commit failed.
    return [begin, ...reads.map(within), ...outside, ...(ends[end] ?? []), { ...rollback, quiet: true }];
  });

const chunk: Random<Chunk> = mix(
  [8, alone(writes.map(toWriteCall('Commit')))],
  [2, alone(writes.map(toWriteCall('BatchWrite')))],
  [3, alone(batchGet)],
  [12, alone(query)],
  [4, alone(aggregationQuery)],
  [1, listingPages],
  [2, transaction],
);

/** Some documents to begin with, so that the first query finds something. */
const start = fc.array(fc.record({ name: goodName, fields }), { minLength: 2, maxLength: 6 }).map(
  (documents): Chunk =>
    () =>
      documents.map((document) => toWriteCall('Commit')([{ update: document }])),
);

/** A sequence of about sixteen calls. */
export const sequence: Random<readonly Operation[]> = fc
  .tuple(start, fc.array(chunk, { minLength: 4, maxLength: 14, size: 'max' }))
  .map(([first, chunks]) => {
    const operations: Operation[] = [];
    for (const each of [first, ...chunks]) operations.push(...each(operations.length));
    return operations.map((operation) => JSON.parse(JSON.stringify(operation)) as Operation);
  });
