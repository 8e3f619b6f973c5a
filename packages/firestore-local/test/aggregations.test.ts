import type { google } from '@google-cloud/firestore-api/protos';
import { aggregateRaw, by, double, integer } from './raw-query';
import { rejection, startFirestoreTestServer, type FirestoreTestServer, type RawClient } from './support';

/** Sums, averages and counts to the last bit, and which aggregations are refused, as Google's emulator has them. */

type RawValue = google.firestore.v1.IValue;
type Aggregation = google.firestore.v1.StructuredAggregationQuery.IAggregation;

let bench: FirestoreTestServer;
let raw: RawClient;
beforeAll(async () => {
  bench = await startFirestoreTestServer();
  raw = bench.raw();
});
beforeEach(() => bench.server.clear());
afterAll(() => bench.close());

const ROOT = 'projects/sums/databases/(default)/documents';
const count: Aggregation = { alias: 'count', count: {} };
const sum = (alias = 'sum', fieldPath = 'v'): Aggregation => ({ alias, sum: { field: { fieldPath } } });
const average: Aggregation = { alias: 'average', avg: { field: { fieldPath: 'v' } } };
const MAX_INT64 = '9223372036854775807';

/** Stores documents `0`, `1`…; undefined stands for a document without the field `v`. */
async function write(values: readonly (RawValue | undefined)[]): Promise<void> {
  const writes = values.map((v, i) => ({ update: { name: `${ROOT}/c/${i}`, fields: { ...(v && { v }) } } }));
  await raw.commit({ database: ROOT.replace('/documents', ''), writes });
}

test.each<[string, RawValue[], RawValue, number]>([
  [
    'integers above 64 bits on the way',
    [integer(MAX_INT64), integer(1), integer(-5)],
    integer('9223372036854775803'),
    9223372036854775803 / 3,
  ],
  ['integers above 64 bits at the end', [integer(MAX_INT64), integer(1)], double(2 ** 63), 2 ** 62],
  ['doubles that are rounded off', [double(0.1), double(0.2), double(0.3)], double(0.6), 0.6 / 3],
  ['a double among integers', [integer(1), double(0.1), integer(1), double(0.2)], double(2.3), 0.575],
  ['doubles above the greatest on the way', [double(1e308), double(1e308), double(-1e308)], double(1e308), 1e308 / 3],
  [
    'doubles of many sizes',
    [
      -0.619977521055089, -41.522936870101645, -67.03949952477096, 3651.137551340733, 420.293363635837,
      -0.6457999454479216,
    ].map(double),
    double(3961.602701115194),
    3961.602701115194 / 6,
  ],
])('the sum of %s', async (_, values, expected, expectedAverage) => {
  await write(values);
  const result = await aggregateRaw(raw, ROOT, [sum(), average]);
  expect(result['sum']).toMatchObject(expected);
  expect(result['average']?.doubleValue).toBe(expectedAverage);
});

test('infinities and NaN are summed', async () => {
  await write([double(Infinity), double(1)]);
  expect((await aggregateRaw(raw, ROOT, [sum()]))['sum']?.doubleValue).toBe(Infinity);
  await write([double(Infinity), double(-Infinity)]);
  expect((await aggregateRaw(raw, ROOT, [sum()]))['sum']?.doubleValue).toBe(NaN);
});

test('a document without the field drops out before offset and limit, and the field is the order', async () => {
  await write([integer(9), undefined, integer(1), integer(2), integer(3)]);
  const [limit, offset] = [{ limit: { value: 2 } }, { limit: { value: 2 }, offset: 1 }];
  expect(await aggregateRaw(raw, ROOT, [sum(), count], limit)).toMatchObject({
    sum: integer('3'),
    count: integer('2'),
  });
  expect(await aggregateRaw(raw, ROOT, [sum(), count], offset)).toMatchObject({ sum: integer('5') });
  expect(await aggregateRaw(raw, ROOT, [count], { limit: { value: 4 } })).toMatchObject({ count: integer('4') });
});

test('unnamed aggregations are numbered among themselves', async () => {
  const unnamed = { count: {} };
  expect(Object.keys(await aggregateRaw(raw, ROOT, [count, unnamed, sum(), unnamed]))).toEqual(
    expect.arrayContaining(['count', 'field_1', 'sum', 'field_2']),
  );
});

test.each<[string, Aggregation[]]>([
  ['no aggregation', []],
  ['a duplicate alias', [sum('x'), { alias: 'x', count: {} }]],
  ['an alias like the name of an unnamed one', [sum('field_1'), { count: {} }]],
  ['a reserved alias', [sum('__x__')]],
  ['an alias of 1,501 bytes', [sum('x'.repeat(1501))]],
  ['a negative bound', [{ count: { upTo: { value: -1 } } }]],
  ['no operator', [{ alias: 'x' }]],
  ['the name', [sum('x', '__name__')]],
  ['a reserved field', [sum('x', '__x__')]],
])('%s is refused', async (_, aggregations) => {
  expect(await rejection(aggregateRaw(raw, ROOT, aggregations))).toMatchObject({ code: 3 });
});

test('an order by name leaves no place for the aggregated field', async () => {
  expect(await rejection(aggregateRaw(raw, ROOT, [sum()], { orderBy: [by('__name__')] }))).toMatchObject({ code: 3 });
  expect(await aggregateRaw(raw, ROOT, [sum()], { orderBy: [by('v'), by('__name__')] })).toHaveProperty('sum');
});
