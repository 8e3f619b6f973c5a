import type { google } from '@google-cloud/firestore-api/protos';
import { all, any, by, integer, list, map, reference, runRaw, text, where, whereIs } from './raw-query';
import { rejection, startFirestoreTestServer, type FirestoreTestServer, type RawClient } from './support';

/** Which queries are refused, by the raw protocol: the SDKs send few of them. */

let bench: FirestoreTestServer;
let raw: RawClient;
beforeAll(async () => {
  bench = await startFirestoreTestServer();
  raw = bench.raw();
});
afterAll(() => bench.close());

const DATABASE = 'projects/rules/databases/(default)';
const ROOT = `${DATABASE}/documents`;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

type Query = google.firestore.v1.IStructuredQuery;

const integers = (count: number): google.firestore.v1.IValue =>
  list(...Array.from({ length: count }, (_, i) => integer(i)));
const filters = (count: number, op: 'EQUAL' | 'GREATER_THAN'): Query => ({
  where: all(...Array.from({ length: count }, (_, i) => where(`f${i}`, op, integer(i)))),
});
const group = { from: [{ collectionId: 'c', allDescendants: true }] };
const kindless = { from: [{ allDescendants: true }] };
const cursor = (...values: google.firestore.v1.IValue[]): Query => ({ startAt: { values, before: true } });
const descending = { orderBy: [by('__name__', 'DESCENDING')] };

test.each<[string, Query]>([
  ['a string of 1,500 bytes', { where: where('f', 'EQUAL', text('x'.repeat(1500))) }],
  ['a string of 1,500 bytes in UTF-8', { where: where('f', 'EQUAL', text('é'.repeat(750))) }],
  ['a range from a string of 1,500 bytes', { where: where('f', 'LESS_THAN', text('x'.repeat(1500))) }],
  ['an element of in of 1,500 bytes', { where: where('f', 'IN', list(text('x'.repeat(1500)))) }],
  [
    'an element of array-contains-any of 1,500 bytes',
    { where: where('f', 'ARRAY_CONTAINS_ANY', list(text('x'.repeat(1500)))) },
  ],
  ['bytes of more than 1,500', { where: where('f', 'EQUAL', { bytesValue: Buffer.alloc(1501) }) }],
  ['a string of 1,500 bytes in an array', { where: where('f', 'EQUAL', list(text('x'.repeat(1500)))) }],
  [
    'strings of 1,499 bytes together in an array',
    { where: where('f', 'EQUAL', list(text('x'.repeat(700)), text('x'.repeat(799)))) },
  ],
  ['a string of 1,498 bytes in a map', { where: where('f', 'EQUAL', map({ k: text('x'.repeat(1498)) })) }],
  ['a reference of more than 1,500 bytes', { where: where('f', 'EQUAL', reference(`${ROOT}/c/${'x'.repeat(1482)}`)) }],
  ['more cursor values than orders', { ...cursor(integer(1), reference(`${ROOT}/c/x`)), orderBy: [by('f')] }],
  ['a cursor without an order', cursor(reference(`${ROOT}/c/x`))],
  [
    'a cursor at a name of another database',
    { ...cursor(reference('projects/p/databases/d/documents/c/x')), orderBy: [by('__name__')] },
  ],
  ['a cursor at the name of a collection', { ...cursor(reference(`${ROOT}/c`)), orderBy: [by('__name__')] }],
  ['an order named twice', { orderBy: [by('f'), by('f', 'DESCENDING')] }],
  ['an order after the name', { orderBy: [by('__name__'), by('f')] }],
  [
    'an inequality on a field that the order lacks before the name',
    { where: where('f', 'GREATER_THAN', integer(1)), orderBy: [by('__name__')] },
  ],
  ['two negations', { where: all(where('f', 'NOT_EQUAL', integer(1)), where('f', 'NOT_EQUAL', integer(2))) }],
  [
    'two negations in two disjunctions',
    { where: any(where('f', 'NOT_EQUAL', integer(1)), whereIs('g', 'IS_NOT_NULL')) },
  ],
  ['not-in with in', { where: all(where('f', 'NOT_IN', integers(1)), where('g', 'IN', integers(1))) }],
  [
    'not-in with array-contains-any',
    { where: all(where('f', 'NOT_IN', integers(1)), where('g', 'ARRAY_CONTAINS_ANY', integers(1))) },
  ],
  [
    'two array-contains',
    { where: all(where('f', 'ARRAY_CONTAINS', integer(1)), where('g', 'ARRAY_CONTAINS_ANY', integers(1))) },
  ],
  ['in with 31 values', { where: where('f', 'IN', integers(31)) }],
  ['in without values', { where: where('f', 'IN', list()) }],
  ['not-in with eleven values', { where: where('f', 'NOT_IN', integers(11)) }],
  ['31 disjunctions', { where: any(...Array.from({ length: 31 }, (_, i) => where('f', 'EQUAL', integer(i)))) }],
  ['101 filters', filters(101, 'EQUAL')],
  ['99 filters and two orders', { ...filters(99, 'EQUAL'), orderBy: [by('x'), by('y')] }],
  ['inequalities on eleven fields', filters(11, 'GREATER_THAN')],
  ['the name with array-contains', { where: where('__name__', 'ARRAY_CONTAINS', reference(`${ROOT}/c/x`)) }],
  ['the name is null', { where: whereIs('__name__', 'IS_NULL') }],
  ['the name as a string', { where: where('__name__', 'EQUAL', text('x')) }],
  ['the name of a collection', { where: where('__name__', 'EQUAL', reference(`${ROOT}/c`)) }],
  ['a reserved name in a filter', { where: where('f.__x__', 'EQUAL', integer(1)) }],
  ['a reserved name in an order', { orderBy: [by('__x__')] }],
  ['a reserved name in a projection', { select: { fields: [{ fieldPath: '__x__' }] } }],
  ['the name as a step', { where: where('f.__name__', 'EQUAL', integer(1)) }],
  ['a path of 1,501 bytes', { where: where('f'.repeat(1501), 'EQUAL', integer(1)) }],
  ['a path of 21 steps', { orderBy: [by(Array(21).fill('f').join('.'))] }],
  ['the collection id .', { from: [{ collectionId: '.' }] }],
  ['the collection id ..', { from: [{ collectionId: '..' }] }],
  ['a reserved collection id', { from: [{ collectionId: '__x__' }] }],
  ['a numeric collection id', { from: [{ collectionId: '__id7__' }] }],
  ['a collection id of 1,501 bytes', { from: [{ collectionId: 'x'.repeat(1501) }] }],
  ['a collection id with a slash', { from: [{ collectionId: 'a/b' }] }],
  ['a kindless query with a filter', { ...kindless, where: where('f', 'EQUAL', integer(1)) }],
  ['a kindless query with an order', { ...kindless, orderBy: [by('f')] }],
  ['a kindless query with descending names', { ...kindless, ...descending }],
  ['a negative limit', { limit: { value: -1 } }],
  ['a negative offset', { offset: -1 }],
  ['a time after the year 9999', { where: where('f', 'EQUAL', { timestampValue: { seconds: 253402300800 } }) }],
  ['a latitude of 91', { where: where('f', 'EQUAL', { geoPointValue: { latitude: 91 } }) }],
  ['a malformed reference', { where: where('f', 'EQUAL', reference('x')) }],
])('%s is refused with INVALID_ARGUMENT', async (_, query) => {
  expect(await rejection(runRaw(raw, ROOT, query))).toMatchObject({ code: INVALID_ARGUMENT });
});

test.each<[string, Query]>([
  ['a string of 1,499 bytes', { where: where('f', 'EQUAL', text('x'.repeat(1499))) }],
  ['bytes of 1,500', { where: where('f', 'EQUAL', { bytesValue: Buffer.alloc(1500) }) }],
  [
    'strings of 1,498 bytes together in an array',
    { where: where('f', 'EQUAL', list(text('x'.repeat(749)), text('x'.repeat(749)))) },
  ],
  ['a string of 1,497 bytes in a map', { where: where('f', 'EQUAL', map({ k: text('x'.repeat(1497)) })) }],
  ['a reference of 1,500 bytes', { where: where('f', 'EQUAL', reference(`${ROOT}/c/${'x'.repeat(1480)}`)) }],
  [
    '30 elements of 100 bytes',
    { where: where('f', 'IN', list(...Array.from({ length: 30 }, (_, i) => text(`${i}${'x'.repeat(98)}`)))) },
  ],
  ['a long cursor value', { ...cursor(text('x'.repeat(1500))), orderBy: [by('f')] }],
  [
    'an inequality on another field than the first order',
    { where: where('f', 'GREATER_THAN', integer(1)), orderBy: [by('g')] },
  ],
  [
    'one negation and a range',
    { where: all(where('f', 'NOT_EQUAL', integer(1)), where('g', 'GREATER_THAN', integer(1))) },
  ],
  [
    'array-contains in each of two disjunctions',
    { where: any(where('f', 'ARRAY_CONTAINS', integer(1)), where('f', 'ARRAY_CONTAINS', integer(2))) },
  ],
  ['100 filters', filters(100, 'EQUAL')],
  ['a path of 20 steps', { orderBy: [by(Array(20).fill('f').join('.'))] }],
  [
    'a kindless query with a range of names',
    { ...kindless, where: where('__name__', 'GREATER_THAN', reference(`${ROOT}/c/x`)) },
  ],
  ['a kindless query of one level', { from: [{}] }],
  ['a name of another collection', { where: where('__name__', 'EQUAL', reference(`${ROOT}/d/x`)) }],
])('%s is accepted', async (_, query) => {
  expect(await runRaw(raw, ROOT, query)).toEqual([]);
});

test.each<[string, Query]>([
  ['alone', descending],
  ['with a range of names', { ...descending, where: where('__name__', 'GREATER_THAN', reference(`${ROOT}/c/x`)) }],
  ['over a collection group', { ...group, ...descending }],
])('descending names %s need an index', async (_, query) => {
  expect(await rejection(runRaw(raw, ROOT, query))).toMatchObject({ code: FAILED_PRECONDITION });
});

test('descending names are served by a declared index, and by the index of an equality', async () => {
  const fields = [{ fieldPath: '__name__', order: 'DESCENDING' as const }];
  const indexed = await startFirestoreTestServer({ indexes: { indexes: [{ collectionGroup: 'c', fields }] } });
  try {
    const db = indexed.client('rules');
    for (const id of ['a', 'b']) await db.doc(`c/${id}`).set({ f: 1 });
    expect(await runRaw(indexed.raw(), ROOT, descending)).toEqual(['b', 'a']);
  } finally {
    await indexed.close();
  }
  const query = { ...descending, where: where('f', 'EQUAL', integer(1)) };
  expect(await runRaw(raw, ROOT, query)).toEqual([]);
});

test('a kindless query of one level reads every collection directly below its parent', async () => {
  const db = bench.client('levels');
  for (const path of ['c/x', 'd/y', 'c/x/e/z']) await db.doc(path).set({});
  expect(await runRaw(raw, 'projects/levels/databases/(default)/documents', { from: [{}] })).toEqual(['x', 'y']);
});
