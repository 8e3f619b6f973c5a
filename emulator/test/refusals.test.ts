import {
  AggregateField,
  FieldValue,
  Filter,
  GeoPoint,
  type Firestore,
  type Query,
  type VectorQueryOptions,
} from '@google-cloud/firestore';
import {
  DOCUMENTS,
  NULL,
  call,
  collection,
  commit,
  group,
  inDatabase,
  query,
  read,
  set,
  where,
  type Call,
} from './conformance/calls';
import { connect } from './conformance/protocol';
import { runSequence } from './conformance/sequence';
import { rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

/* Tests that the server refuses what it does not support. */

let bench: FirestoreTestServer;
let db: Firestore;
beforeAll(async () => {
  bench = await startFirestoreTestServer();
  db = bench.client();
  await db.doc('c/a').set({ f: 1 });
});
afterAll(() => bench.close());

const listen = (target: Pick<Query, 'onSnapshot'>): Promise<unknown> =>
  new Promise((resolve, reject) => target.onSnapshot(resolve, reject));
const c = () => db.collection('c');
const either = Filter.or(Filter.where('f', '==', 1), Filter.where('g', '==', 1));
const sum = AggregateField.sum('f');
const counts = { a: AggregateField.count(), b: AggregateField.count() };
const vector = FieldValue.vector([1, 2]);
const search: VectorQueryOptions = { vectorField: 'v', queryVector: [1, 2], limit: 1, distanceMeasure: 'COSINE' };

const countUpTo = call('RunAggregationQuery', {
  parent: DOCUMENTS,
  structuredAggregationQuery: { structuredQuery: collection('c'), aggregations: [{ count: { upTo: { value: 1 } } }] },
});

async function partition(): Promise<void> {
  for await (const part of db.collectionGroup('c').getPartitions(3)) expect(part).toBeUndefined();
}

test.each<[string, string, () => Promise<unknown>]>([
  ['a listener', 'Listen', () => listen(db.collection('c').where('f', '==', 1))],
  ['OR', 'OR in a filter', () => c().where(either).get()],
  ['ranges of two fields', 'Ranges of several fields', () => c().where('f', '>', 1).where('g', '>', 1).get()],
  ['a cursor at the end', 'A cursor at the end', () => c().orderBy('f').endAt(1).get()],
  ['!=', 'A filter with !=', () => c().where('f', '!=', 1).get()],
  ['not-in', 'not-in', () => c().where('f', 'not-in', [1]).get()],
  ['array-contains', 'array-contains', () => c().where('f', 'array-contains', 1).get()],
  ['a filter on not-null', 'not-null', () => c().where('f', '!=', null).get()],
  ['an offset', 'Offsets', () => c().offset(1).get()],
  ['a sum', 'Aggregations', () => c().aggregate({ sum }).get()],
  ['two counts', 'Aggregations', () => c().aggregate(counts).get()],
  [
    'two writes of one document',
    'Several writes',
    () => db.batch().set(db.doc('c/b'), {}).delete(db.doc('c/b')).commit(),
  ],
  ['a transform', 'Field transforms', () => db.doc('c/b').set({ at: FieldValue.serverTimestamp() })],
  ['a geographical point', 'points', () => db.doc('c/b').set({ at: new GeoPoint(0, 0) })],
  ['a listing of documents', 'ListDocuments', () => c().listDocuments()],
  ['a vector in a document', 'Vectors', () => db.doc('c/b').set({ v: vector })],
  ['a search of vectors', 'Vector', () => db.collection('c').findNearest(search).get()],
  ['the plan of a query', 'Query explain', () => db.collection('c').explain()],
  ['partitions', 'PartitionQuery', partition],
])('the server refuses %s', async (_, subject, call) => {
  const { message } = await rejection(call());
  expect(message).toMatch(
    new RegExp(
      `12.*${subject}.*: the embedded Firestore does not serve this\\. Google's emulator .* FIRESTORE_EMULATOR_HOST`,
    ),
  );
});

test.each<[string, Call]>([
  ['a read-only transaction', inDatabase('BeginTransaction', { options: { readOnly: {} } })],
  ['a read-only transaction that a read begins', read(['c/a'], { newTransaction: { readOnly: {} } })],
  ['a range from null', query({ where: where('f', 'LESS_THAN', NULL) })],
  ['a query of all collections below the parent', query({ from: [{}] })],
  ['a query of all collections', query({ from: [{ allDescendants: true }] })],
  ['a collection group below a document', query(group('b'), `${DOCUMENTS}/a/1`)],
  ['a count with an upper limit', countUpTo],
  ['a batch of writes', inDatabase('BatchWrite')],
  ['a page of collections', call('ListCollectionIds', { parent: DOCUMENTS, pageSize: 1 })],
  ['the collections of an earlier time', call('ListCollectionIds', { parent: DOCUMENTS, readTime: { seconds: '1' } })],
  ['a write that only transforms', commit({ transform: { document: `${DOCUMENTS}/c/a`, fieldTransforms: [] } })],
])('the server refuses %s, sent without an SDK', async (_, refused) => {
  const server = connect(bench.server.address);
  const answers = await runSequence(server, 'projects/raw/databases/(default)', [set('c/a'), refused]);
  expect(answers.at(-1)).toEqual({ code: 12 });
  server.close();
});

test('an HTTP/1.1 request gets status 501 and a text that names the supported clients', async () => {
  const response = await fetch(`http://${bench.server.address}/v1/projects/p/databases/d/documents`);
  expect(response.status).toBe(501);
  expect(await response.text()).toContain('serves the server SDKs, over gRPC');
});
