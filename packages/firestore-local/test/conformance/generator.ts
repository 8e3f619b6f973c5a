import fc from 'fast-check';
import type { JsonObject } from './protocol';
import type { Operation } from './sequence';

/*
 * Random sequences. Names, fields and values come from small pools, so that calls meet; the pools hold what is equal in
 * one type and not in another, what sorts in an unexpected place, and what is refused.
 */

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 3 });
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 8 }).map((value) => value);

const DOCUMENTS = '$db/documents';

/** Documents of three groups, at two depths. */
const documentName = fc
  .oneof(
    { weight: 12, arbitrary: pick('a/1', 'a/2', 'a/3', 'b/1', 'b/é', 'a/1/b/1', 'a/1/b/2', 'a/2/b/1', 'c/__id7__') },
    { weight: 2, arbitrary: pick('c/__id10__', 'a/\uffff', 'a/\u{1f600}', 'a/1/b/1/c/x', 'a/10', 'a/Z') },
  )
  .map((path) => `${DOCUMENTS}/${path}`);

const badDocumentName = pick(
  `${DOCUMENTS}/a`,
  `${DOCUMENTS}/a/..`,
  `${DOCUMENTS}/__a__/1`,
  `${DOCUMENTS}/a/__x__`,
  `${DOCUMENTS}/a//b`,
  '$db/a/1',
  'a/1',
);

const anyDocumentName = fc.oneof({ weight: 40, arbitrary: documentName }, { weight: 1, arbitrary: badDocumentName });

const INTEGERS = ['0', '1', '-1', '2', '10', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
const DOUBLES = [0.5, 1, '-0', 'NaN', 'Infinity', '-Infinity', 9007199254740992, 9223372036854775808, 1e-310, -2.5];
const STRINGS = ['', 'a', 'b', 'ab', 'B', 'é', 'e\u0301', '\u{1f600}', '\uffff', 'a\0', '1'];
const TIMES = [
  { seconds: '0', nanos: 0 },
  { seconds: '1000000000', nanos: 123456000 },
  { seconds: '1000000000', nanos: 123456789 },
  { seconds: '-62135596800', nanos: 0 },
];
const POINTS = [
  { latitude: 0, longitude: 0 },
  { latitude: 1.5, longitude: -3 },
  { latitude: -90, longitude: 180 },
];

const scalar: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 5, arbitrary: pick(...INTEGERS).map((integerValue) => ({ integerValue })) },
  { weight: 3, arbitrary: pick(...DOUBLES).map((doubleValue) => ({ doubleValue })) },
  { weight: 5, arbitrary: pick(...STRINGS).map((stringValue) => ({ stringValue })) },
  { weight: 2, arbitrary: fc.boolean().map((booleanValue) => ({ booleanValue })) },
  { weight: 2, arbitrary: fc.constant({ nullValue: 'NULL_VALUE' }) },
  { weight: 1, arbitrary: pick(...TIMES).map((timestampValue) => ({ timestampValue })) },
  { weight: 1, arbitrary: pick('', 'AA==', 'AQ==', 'AQI=', '/w==').map((bytesValue) => ({ bytesValue })) },
  { weight: 1, arbitrary: documentName.map((referenceValue) => ({ referenceValue })) },
  { weight: 1, arbitrary: pick(...POINTS).map((geoPointValue) => ({ geoPointValue })) },
);

const KEYS = ['f', 'g', 'h', 'm', 'x.y', 'é', 'Z', '1', 'a`b'];

const mapOf = (item: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc.dictionary(pick('k', 'j', 'a', '10', '9'), item, { maxKeys: 3, noNullPrototype: true });
const arrayOf = (item: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc.array(item, { maxLength: 3 }).map((values) => ({ arrayValue: { values } }));
const toMapValue = (fields: JsonObject): JsonObject => ({ mapValue: { fields } });

const nested = fc.oneof({ weight: 6, arbitrary: scalar }, { weight: 1, arbitrary: mapOf(scalar).map(toMapValue) });
const value: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 12, arbitrary: scalar },
  { weight: 3, arbitrary: arrayOf(nested) },
  { weight: 3, arbitrary: mapOf(fc.oneof(scalar, arrayOf(scalar))).map(toMapValue) },
);

/** Refused in a stored document. */
const badValue: fc.Arbitrary<JsonObject> = pick<JsonObject>(
  {},
  { arrayValue: { values: [{ arrayValue: { values: [] } }] } },
  { geoPointValue: { latitude: 91, longitude: 0 } },
  { timestampValue: { seconds: '253402300800', nanos: 0 } },
  { timestampValue: { seconds: '0', nanos: -1 } },
  { referenceValue: 'a/1' },
  { referenceValue: `${DOCUMENTS}/a` },
  { mapValue: { fields: { __x__: { integerValue: '1' } } } },
  { mapValue: { fields: { '': { integerValue: '1' } } } },
);

const fields: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.oneof({ weight: 6, arbitrary: pick('f', 'g', 'm') }, { weight: 1, arbitrary: pick(...KEYS) }),
  fc.oneof({ weight: 80, arbitrary: value }, { weight: 1, arbitrary: badValue }),
  { maxKeys: 4, noNullPrototype: true },
);

const goodPath = fc.oneof(
  { weight: 6, arbitrary: pick('f', 'g', 'm') },
  { weight: 2, arbitrary: pick('m.k', 'm.j', 'm.k.a', 'h', '`x.y`', '`é`', 'Z', '`1`', '`a\\`b`') },
);
const badPath = pick('', 'a..b', '1', 'x y', '.f', 'f.', '`f', '__x__', 'é');
const fieldPath = fc.oneof({ weight: 60, arbitrary: goodPath }, { weight: 1, arbitrary: badPath });
const queryPath = fc.oneof({ weight: 12, arbitrary: fieldPath }, { weight: 1, arbitrary: fc.constant('__name__') });

const number = fc.oneof(
  pick(...INTEGERS).map((integerValue) => ({ integerValue })),
  pick(...DOUBLES).map((doubleValue) => ({ doubleValue })),
);

const transform: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ setToServerValue: 'REQUEST_TIME' }) },
  { weight: 3, arbitrary: number.map((increment) => ({ increment })) },
  { weight: 1, arbitrary: number.map((maximum) => ({ maximum })) },
  { weight: 1, arbitrary: number.map((minimum) => ({ minimum })) },
  {
    weight: 2,
    arbitrary: fc.array(nested, { maxLength: 3 }).map((values) => ({ appendMissingElements: { values } })),
  },
  { weight: 2, arbitrary: fc.array(nested, { maxLength: 2 }).map((values) => ({ removeAllFromArray: { values } })) },
);

/** Index of an earlier answer: most calls of a sequence are within it. */
const answerIndex = fc.nat({ max: 12 });

const precondition: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 4, arbitrary: fc.boolean().map((exists) => ({ exists })) },
  { weight: 2, arbitrary: answerIndex.map((i) => ({ updateTime: `$time:${i}` })) },
  { weight: 1, arbitrary: answerIndex.map((i) => ({ updateTime: `$time:${i}+1` })) },
);

const write: fc.Arbitrary<JsonObject> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      update: fc.record({ name: anyDocumentName, fields }),
      updateMask: maybe(fc.array(fieldPath, { maxLength: 3 }).map((fieldPaths) => ({ fieldPaths }))),
      updateTransforms: maybe(
        fc.array(
          fc.tuple(fieldPath, transform).map(([path, rest]) => ({ fieldPath: path, ...rest })),
          { maxLength: 2 },
        ),
      ),
      currentDocument: rarely(precondition),
    }),
  },
  { weight: 2, arbitrary: fc.record({ delete: anyDocumentName, currentDocument: rarely(precondition) }) },
);

const writes = fc.array(write, { minLength: 1, maxLength: 3 });

const toWriteCall =
  (rpc: string, rest: JsonObject = {}) =>
  (list: readonly JsonObject[]): Operation => ({
    rpc,
    request: { database: '$db', ...rest, writes: list },
  });

const listOperand = fc.array(nested, { maxLength: 4 }).map((values) => ({ arrayValue: { values } }));

const fieldFilter: fc.Arbitrary<JsonObject> = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        op: pick(
          'EQUAL',
          'EQUAL',
          'LESS_THAN',
          'LESS_THAN_OR_EQUAL',
          'GREATER_THAN',
          'GREATER_THAN_OR_EQUAL',
          'NOT_EQUAL',
        ),
        field: queryPath.map((path) => ({ fieldPath: path })),
        value,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        op: pick('IN', 'NOT_IN', 'ARRAY_CONTAINS_ANY'),
        field: queryPath.map((path) => ({ fieldPath: path })),
        value: fc.oneof({ weight: 12, arbitrary: listOperand }, { weight: 1, arbitrary: scalar }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        op: fc.constant('ARRAY_CONTAINS'),
        field: fieldPath.map((path) => ({ fieldPath: path })),
        value: nested,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: pick('EQUAL', 'LESS_THAN', 'GREATER_THAN_OR_EQUAL'),
        field: fc.constant({ fieldPath: '__name__' }),
        value: anyDocumentName.map((referenceValue) => ({ referenceValue })),
      }),
    },
  )
  .map((filter) => ({ fieldFilter: filter }));

const unaryFilter = fc
  .record({
    op: pick('IS_NAN', 'IS_NULL', 'IS_NOT_NAN', 'IS_NOT_NULL'),
    field: fieldPath.map((path) => ({ fieldPath: path })),
  })
  .map((filter): JsonObject => ({ unaryFilter: filter }));

const leaf = fc.oneof({ weight: 6, arbitrary: fieldFilter }, { weight: 1, arbitrary: unaryFilter });
const compositeOf = (part: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc
    .record({ op: pick('AND', 'OR'), filters: fc.array(part, { minLength: 1, maxLength: 3 }) })
    .map((filter) => ({ compositeFilter: filter }));
const filter = fc.oneof(
  { weight: 6, arbitrary: leaf },
  { weight: 3, arbitrary: compositeOf(leaf) },
  { weight: 1, arbitrary: compositeOf(fc.oneof(leaf, compositeOf(leaf))) },
);

const order = fc.record({
  field: queryPath.map((path) => ({ fieldPath: path })),
  direction: pick('ASCENDING', 'DESCENDING', 'ASCENDING', undefined),
});

/** Orders with cursors on them: a cursor's values are of the order's terms, a reference for the name. */
const ordering: fc.Arbitrary<JsonObject> = fc
  .record({ orderBy: fc.array(order, { maxLength: 2 }), byName: fc.boolean() })
  .chain(({ orderBy, byName }) => {
    const terms = orderBy.map((term): fc.Arbitrary<JsonObject> =>
      term.field.fieldPath === '__name__' ? documentName.map((referenceValue) => ({ referenceValue })) : value,
    );
    const name = documentName.map((referenceValue): JsonObject => ({ referenceValue }));
    const ordered = byName ? [...orderBy, { field: { fieldPath: '__name__' } }] : orderBy;
    const all = byName ? [...terms, name] : terms;
    const cursor =
      all.length === 0
        ? fc.constant(undefined)
        : fc.option(fc.record({ values: fc.tuple(...all), before: fc.boolean() }), { nil: undefined, freq: 2 });
    return fc.record({ orderBy: fc.constant(ordered), startAt: cursor, endAt: cursor });
  });

const bound = fc.oneof({ weight: 12, arbitrary: fc.nat({ max: 4 }) }, { weight: 1, arbitrary: fc.constant(-1) });

const structuredQuery: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: pick('a', 'b').map((collectionId) => ({ collectionId })) },
      { weight: 4, arbitrary: fc.constant({ collectionId: 'b', allDescendants: true }) },
      {
        weight: 1,
        arbitrary: pick<JsonObject>({ allDescendants: true }, {}, { collectionId: 'a/b' }, { collectionId: '__x__' }),
      },
    ),
    fc.record({
      where: maybe(filter),
      select: rarely(
        fc
          .array(queryPath, { minLength: 1, maxLength: 2 })
          .map((paths) => ({ fields: paths.map((path) => ({ fieldPath: path })) })),
      ),
      limit: maybe(bound.map((limit) => ({ value: limit }))),
      offset: rarely(bound),
    }),
    fc.oneof(fc.constant({}), ordering),
  )
  .map(([from, rest, orders]) => ({ from: [from], ...rest, ...orders }));

const parent = fc.oneof(
  { weight: 6, arbitrary: fc.constant(DOCUMENTS) },
  { weight: 2, arbitrary: pick(`${DOCUMENTS}/a/1`, `${DOCUMENTS}/a/2`) },
);

const query = fc.record({ parent, structuredQuery }).map((request): Operation => ({ rpc: 'RunQuery', request }));

const aggregation: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.oneof<fc.Arbitrary<JsonObject>[]>(
      fc.record({ count: fc.record({ upTo: rarely(bound.map((limit) => ({ value: limit }))) }) }),
      goodPath.map((path) => ({ sum: { field: { fieldPath: path } } })),
      goodPath.map((path) => ({ avg: { field: { fieldPath: path } } })),
    ),
    pick('', '', 'x', 'y'),
  )
  .map(([kind, alias]) => ({ ...kind, alias }));

const aggregationQuery = fc
  .record({
    parent,
    structuredAggregationQuery: fc.record({
      structuredQuery: structuredQuery.map(({ select, ...rest }) => rest),
      aggregations: fc.array(aggregation, { minLength: 1, maxLength: 3 }),
    }),
  })
  .map((request): Operation => ({ rpc: 'RunAggregationQuery', request }));

const mask = maybe(fc.array(fieldPath, { maxLength: 2 }).map((fieldPaths) => ({ fieldPaths })));

const batchGet = fc
  .record({ documents: fc.array(anyDocumentName, { maxLength: 4 }), mask })
  .map((request): Operation => ({ rpc: 'BatchGetDocuments', request: { database: '$db', ...request } }));

const listing = fc
  .record({
    parent,
    collectionId: pick('a', 'b', 'c', 'zz'),
    pageSize: pick(0, 0, 1, 2, 3),
    mask,
    showMissing: pick(false, false, true),
  })
  .map((request): Operation => ({ rpc: 'ListDocuments', request }));

const listingPages = fc.tuple(fc.nat({ max: 2 }), fc.boolean()).map(([pageSize, collections]): Chunk => {
  const rpc = collections ? 'ListCollectionIds' : 'ListDocuments';
  const request = { parent: DOCUMENTS, pageSize: pageSize + 1, ...(!collections && { collectionId: 'a' }) };
  return (at) => [
    { rpc, request },
    { rpc, request: { ...request, pageToken: `$token:${at}` } },
  ];
});

const single: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ name: anyDocumentName, mask }).map((request) => ({ rpc: 'GetDocument', request })),
  fc
    .record({ name: anyDocumentName, currentDocument: rarely(precondition) })
    .map((request) => ({ rpc: 'DeleteDocument', request })),
  fc
    .record({
      document: fc.record({ name: anyDocumentName, fields }),
      updateMask: mask,
      mask,
      currentDocument: rarely(precondition),
    })
    .map((request) => ({ rpc: 'UpdateDocument', request })),
  fc
    .record({
      parent,
      collectionId: pick('a', 'b'),
      documentId: pick('1', '2', 'n'),
      document: fc.record({ fields }),
    })
    .map((request) => ({ rpc: 'CreateDocument', request })),
);

/** Calls that belong together; they may refer to each other by the place of the first. */
type Chunk = (at: number) => readonly Operation[];

const alone = (operation: fc.Arbitrary<Operation>): fc.Arbitrary<Chunk> => operation.map((each) => () => [each]);

const withTransaction = ({ rpc, request }: Operation, at: number): Operation => ({
  rpc,
  request: { ...request, transaction: `$tx:${at}` },
});

/** Reads and a commit in one transaction, with reads by others between; no one else writes, so no lock is waited for. */
const transaction: fc.Arbitrary<Chunk> = fc
  .record({
    reads: fc.array(fc.oneof(batchGet, query, aggregationQuery), { maxLength: 3 }),
    outside: fc.array(fc.oneof(batchGet, query), { maxLength: 1 }),
    readOnly: pick(false, false, true),
    written: writes,
    end: pick('commit', 'commit', 'rollback', 'commit twice', 'rollback then read'),
  })
  .map(({ reads, outside, readOnly, written, end }): Chunk => (at) => {
    const options = readOnly ? { readOnly: {} } : { readWrite: {} };
    const commit = withTransaction(toWriteCall('Commit')(readOnly ? [] : written), at);
    const rollback: Operation = { rpc: 'Rollback', request: { database: '$db', transaction: `$tx:${at}` } };
    const [read = commit] = reads.map((each) => withTransaction(each, at));
    const ends = {
      commit: [commit],
      rollback: [rollback],
      'commit twice': [commit, commit],
      'rollback then read': [rollback, read],
    };
    // Google's emulator keeps the locks of a transaction whose commit failed.
    const cleanup = { ...rollback, quiet: true };
    return [
      { rpc: 'BeginTransaction', request: { database: '$db', options } },
      ...reads.map((each) => withTransaction(each, at)),
      ...outside,
      ...ends[end as keyof typeof ends],
      cleanup,
    ];
  });

const chunk: fc.Arbitrary<Chunk> = fc.oneof(
  { weight: 8, arbitrary: alone(writes.map(toWriteCall('Commit'))) },
  { weight: 2, arbitrary: alone(writes.map(toWriteCall('BatchWrite'))) },
  { weight: 3, arbitrary: alone(single) },
  { weight: 3, arbitrary: alone(batchGet) },
  { weight: 12, arbitrary: alone(query) },
  { weight: 4, arbitrary: alone(aggregationQuery) },
  { weight: 2, arbitrary: alone(listing) },
  { weight: 1, arbitrary: listingPages },
  { weight: 2, arbitrary: transaction },
);

/** Some documents to begin with, so that the first query finds something. */
const start = fc.array(fc.record({ name: documentName, fields }), { minLength: 2, maxLength: 6 }).map(
  (documents): Chunk =>
    () =>
      documents.map((update) => toWriteCall('Commit')([{ update }])),
);

/** A sequence of about sixteen calls. */
export const sequence: fc.Arbitrary<readonly Operation[]> = fc
  .tuple(start, fc.array(chunk, { minLength: 4, maxLength: 14, size: 'max' }))
  .map(([first, chunks]) => {
    const operations: Operation[] = [];
    for (const each of [first, ...chunks]) operations.push(...each(operations.length));
    return operations.map((operation) => JSON.parse(JSON.stringify(operation)) as Operation);
  });
