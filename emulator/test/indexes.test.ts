import { FieldPath, type Firestore, type Query } from '@google-cloud/firestore';
import type { IndexDefinitions } from '../src';
import { Indexes } from '../src/engine/indexes';
import { toFields } from '../src/protocol/values';
import { rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

/*
 * Tests declared indexes. Unlike production, Google's emulator requires none.
 * https://firebase.google.com/docs/firestore/query-data/index-overview
 */
const indexes: IndexDefinitions = {
  indexes: [
    {
      collectionGroup: 'orders',
      queryScope: 'COLLECTION',
      fields: [
        { fieldPath: 'team_id', order: 'ASCENDING' },
        { fieldPath: 'created_at', order: 'ASCENDING' },
      ],
    },
    {
      collectionGroup: 'orders',
      queryScope: 'COLLECTION',
      fields: [
        { fieldPath: 'status', order: 'ASCENDING' },
        { fieldPath: 'created_at', order: 'ASCENDING' },
      ],
    },
    {
      collectionGroup: 'products',
      queryScope: 'COLLECTION_GROUP',
      fields: [
        { fieldPath: 'kind', order: 'ASCENDING' },
        { fieldPath: 'price', order: 'ASCENDING' },
      ],
    },
  ],
  fieldOverrides: [
    { collectionGroup: 'orders', fieldPath: 'blob', indexes: [] },
    {
      collectionGroup: 'products',
      fieldPath: 'sku',
      indexes: [{ order: 'ASCENDING', queryScope: 'COLLECTION_GROUP' }],
    },
  ],
};

let bench: FirestoreTestServer;
let db: Firestore;
let orders: ReturnType<Firestore['collection']>;
beforeAll(async () => {
  bench = await startFirestoreTestServer({ indexes });
  db = bench.client();
  orders = db.collection('orders');
});
afterAll(() => bench.close());

const id = FieldPath.documentId();

const served: Record<string, () => Query> = {
  'equalities, merged from single fields': () =>
    orders.where('a', '==', 1).where('b', '==', 2).where('c', 'in', [1, 2]),
  'a range and an order of one field': () => orders.where('a', '>', 1).orderBy('a', 'desc'),
  'an equality and a range of ids': () => orders.where('a', '==', 1).where(id, '>', 'x'),
  'an order by the field of an equality': () => orders.where('a', '==', 1).orderBy('a'),
  'an equality and a range by a composite index': () =>
    orders.where('team_id', '==', 't').where('created_at', '>=', 1).where('created_at', '<', 2),
  'two composite indexes, merged': () =>
    orders.where('team_id', '==', 't').where('status', 'in', ['a', 'b']).where('created_at', '>=', 1),
  'a collection group, unfiltered': () => db.collectionGroup('products'),
  'a collection group by a declared field': () => db.collectionGroup('products').where('sku', '==', 'x'),
  'a collection group by a composite index': () =>
    db.collectionGroup('products').where('kind', '==', 'x').orderBy('price'),
  'a subfield': () => orders.where('m.x', '==', 1),
};

const rejected: Record<string, [() => Query, string]> = {
  'an equality and a range of different fields': [
    () => orders.where('a', '==', 1).where('b', '>', 2),
    'collectionGroup "orders", queryScope COLLECTION, fields a ASCENDING, b ASCENDING',
  ],
  'an equality and an order by another field': [
    () => orders.where('a', '==', 1).orderBy('b', 'desc'),
    'fields a ASCENDING, b DESCENDING',
  ],
  'the declared order in the other direction': [
    () => orders.where('team_id', '==', 't').orderBy('created_at', 'desc'),
    'fields team_id ASCENDING, created_at DESCENDING',
  ],
  'two orders': [() => orders.orderBy('a').orderBy('b'), 'fields a ASCENDING, b ASCENDING.'],
  'two orders, and that of ids in the other direction': [
    () => orders.orderBy('a').orderBy('b').orderBy(id, 'desc'),
    'fields a ASCENDING, b ASCENDING, __name__ DESCENDING.',
  ],
  'one more equality than the indexes cover': [
    () => orders.where('team_id', '==', 't').where('x', '==', 1).where('created_at', '>', 1),
    'fields team_id ASCENDING, x ASCENDING, created_at ASCENDING',
  ],
  'an exempted field': [() => orders.where('blob', '==', 1), 'fields blob ASCENDING'],
  'a subfield of an exempted field': [() => orders.where('blob.x', '>', 1), 'fields blob.x ASCENDING'],
  'a collection group by an undeclared field': [
    () => db.collectionGroup('products').where('name', '==', 'x'),
    'collectionGroup "products", queryScope COLLECTION_GROUP, fields name ASCENDING',
  ],
  'a collection by an index of its group': [
    () => db.collection('products').where('kind', '==', 'x').orderBy('price'),
    'queryScope COLLECTION, fields kind ASCENDING, price ASCENDING',
  ],
};

describe('a query', () => {
  it.each(Object.keys(served))('runs with the declared indexes: %s', async (name) => {
    expect((await served[name]?.().get())?.size).toBe(0);
  });

  it.each(Object.keys(rejected))('is rejected without a declared index: %s', async (name) => {
    const [query, fields] = rejected[name] ?? [() => orders, ''];
    const error = await rejection(query().get());
    expect(error).toMatchObject({
      code: 9,
      details: expect.stringContaining('The query requires an index.') as unknown,
    });
    expect(error.details).toContain(fields);
  });
});

test('each indexed field adds two index entries to a document, each distinct array element one, and each composite index one', () => {
  const fields = toFields({ m: { x: 1, list: [1, 1, 2] }, n: 1 });
  const count = (definitions: IndexDefinitions): number => new Indexes(definitions).countEntries('a', fields);
  expect(count({})).toBe(10);
  expect(count({ fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'm', indexes: [] }] })).toBe(2);
  expect(count({ indexes: [{ collectionGroup: 'a', fields: [{ fieldPath: 'm.x' }, { fieldPath: 'n' }] }] })).toBe(11);
  expect(count({ fieldOverrides: [{ collectionGroup: 'b', fieldPath: 'm', indexes: [] }] })).toBe(10);
});

it.each([
  [[]],
  ['text'],
  [{ indexes: {} }],
  [{ indexes: [{ collectionGroup: 'a' }] }],
  [{ indexes: [{ collectionGroup: 'a', fields: [{}] }] }],
  [{ indexes: [null] }],
  [{ indexes: [{ collectionGroup: 'a', fields: 'text' }] }],
  [{ indexes: [{ collectionGroup: 'a', fields: [{ fieldPath: '*' }] }] }],
  [{ fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'x', indexes: [{ order: 'UP' }] }] }],
  [{ indexes: [{ collectionGroup: 'a', fields: [{ fieldPath: '`' }] }] }],
  [{ fieldOverrides: [{}] }],
  [{ fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'x' }] }],
  [{ fieldOverrides: [{ collectionGroup: 'a', fieldPath: '`', indexes: [] }] }],
  [{ fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'x', indexes: [null] }] }],
  [{ fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'x', indexes: [{}] }] }],
  [{ fieldOverrides: [{ fieldPath: 'x', indexes: [] }] }],
])('malformed index definitions are refused: %j', async (wrong) => {
  const start = startFirestoreTestServer({ indexes: wrong as IndexDefinitions });
  expect((await rejection(start)).message).toMatch(/must have the form of a firestore.indexes.json/);
});

it('a server without index definitions requires no declared index', async () => {
  const lenient = await startFirestoreTestServer();
  expect((await lenient.client().collection('c').where('a', '==', 1).orderBy('b').get()).size).toBe(0);
  await lenient.close();
});
