import type { google } from '@google-cloud/firestore-api/protos';
import { decodeRequest } from '../src/protocol/decode-request';
import { by, double, integer, list, map, reference, runRaw, text } from './raw-query';
import { rejection, startFirestoreTestServer, type FirestoreTestServer, type RawClient } from './support';

/** Which writes are refused, and the operations that the SDKs do not send, by the raw protocol. */

type RawValue = google.firestore.v1.IValue;
type Write = google.firestore.v1.IWrite;
type FieldTransform = google.firestore.v1.DocumentTransform.IFieldTransform;

let bench: FirestoreTestServer;
let raw: RawClient;
beforeAll(async () => {
  bench = await startFirestoreTestServer();
  raw = bench.raw();
});
afterAll(() => bench.close());

const database = 'projects/writes/databases/(default)';
const ROOT = `${database}/documents`;
const name = `${ROOT}/c/a`;
const refused = { code: 3 };
const time = (seconds: number, nanos = 0): RawValue => ({ timestampValue: { seconds, nanos } });
const point = (latitude: number, longitude: number): RawValue => ({ geoPointValue: { latitude, longitude } });
const commit = (...writes: Write[]): Promise<unknown> => raw.commit({ database, writes });
const set = (fields: Record<string, RawValue>, write: Write = {}): Promise<unknown> =>
  commit({ update: { name, fields }, ...write });

test.each<[string, RawValue]>([
  ['a time after the year 9999', time(253402300800)],
  ['a time before the year 1', time(-62135596801)],
  ['negative nanoseconds', time(0, -1)],
  ['a second of nanoseconds', time(0, 1e9)],
  ['such a time in an array', list(time(253402300800))],
  ['a latitude of 91', point(91, 0)],
  ['a latitude that is no number', point(NaN, 0)],
  ['a longitude of -181 in a map', map({ k: point(0, -181) })],
  ['an empty reference', reference('')],
  ['a reference to a collection', reference(`${ROOT}/c`)],
  ['a reference to the root', reference(ROOT)],
  ['a reference with a reserved id', reference(`${ROOT}/c/__x__`)],
  ['a text of 1,048,488 bytes', text('x'.repeat(1_048_488))],
  ['bytes of 1,048,488', { bytesValue: Buffer.alloc(1_048_488) }],
  ['such a text in an array', list(text('x'.repeat(1_048_488)))],
  ['a path of 1,501 bytes in maps', map({ ['k'.repeat(1498)]: map({ k: integer(1) }) })],
])('%s is refused', async (_, value) => {
  expect(await rejection(set({ v: value }))).toMatchObject(refused);
});

test.each<[string, RawValue]>([
  ['the first moment of the year 1', time(-62135596800)],
  ['the last moment of the year 9999', time(253402300799, 999999000)],
  ['the poles', list(point(-90, 180), point(90, -180))],
  ['a reference to another database', reference('projects/p/databases/d/documents/c/a')],
  ['a text of 1,048,487 bytes', text('x'.repeat(1_048_487))],
  ['a path of 1,500 bytes in maps', map({ ['k'.repeat(1496)]: map({ k: integer(1) }) })],
])('%s is stored', async (_, value) => {
  await set({ v: value });
});

test('text that is not UTF-8 is refused', () => {
  const request = Buffer.from('\n\u0003a\u00ffb', 'latin1');
  expect(() => decodeRequest('Commit', request)).toThrow('A text is not UTF-8.');
  expect(() => decodeRequest('Commit', Buffer.from('\n\u0003\ufffd'))).toThrow('Database name');
});

const increment = (fieldPath: string): FieldTransform => ({ fieldPath, increment: integer(1) });
test.each<[string, Write]>([
  ['a mask of 1,501 bytes', { updateMask: { fieldPaths: ['f'.repeat(1501)] } }],
  ['a mask of 21 steps', { updateMask: { fieldPaths: [Array(21).fill('f').join('.')] } }],
  ['a mask with a reserved name', { updateMask: { fieldPaths: ['__x__'] } }],
  ['a transform of a field and of its child', { updateTransforms: [increment('f'), increment('f.g')] }],
  ['a transform without an operation', { updateTransforms: [{ fieldPath: 'f' }] }],
  [
    'a server value that is none',
    { updateTransforms: [{ fieldPath: 'f', setToServerValue: 'SERVER_VALUE_UNSPECIFIED' }] },
  ],
  ['a maximum of a text', { updateTransforms: [{ fieldPath: 'f', maximum: text('x') }] }],
  ['an update time finer than a microsecond', { currentDocument: { updateTime: { seconds: 1, nanos: 1 } } }],
  ['an update time after the year 9999', { currentDocument: { updateTime: { seconds: 253402300800 } } }],
])('a write with %s is refused', async (_, write) => {
  expect(await rejection(set({}, write))).toMatchObject(refused);
});

test.each(['__id0__', '__id01__', '__id9223372036854775808__', '__x__', '.', '..'])(
  'the id %s is refused',
  async (id) => {
    expect(await rejection(commit({ update: { name: `${ROOT}/c/${id}` } }))).toMatchObject(refused);
  },
);

test('a name has at most 100 collections', async () => {
  const toName = (collections: number): string =>
    `${ROOT}/${Array(2 * collections)
      .fill('x')
      .join('/')}`;
  await commit({ update: { name: toName(100) } });
  expect(await rejection(commit({ update: { name: toName(101) } }))).toMatchObject(refused);
});

test.each(['', 'projects/p', 'projects/p/databases/', 'projects//databases/d', ROOT])(
  'the database "%s" is refused',
  async (malformed) => {
    const routed = { otherArgs: { headers: { 'google-cloud-resource-prefix': malformed } } };
    expect(await rejection(raw.commit({ database: malformed }, routed))).toMatchObject(refused);
    expect(await rejection(raw.beginTransaction({ database: malformed }, routed))).toMatchObject(refused);
  },
);

test('a read time finer than a microsecond is refused', async () => {
  const readTime = { seconds: Math.floor(Date.now() / 1000) - 1, nanos: 1 };
  expect(await rejection(raw.beginTransaction({ database, options: { readOnly: { readTime } } }))).toMatchObject(
    refused,
  );
});

test.each<[string, RawValue, 'maximum' | 'minimum', RawValue, RawValue]>([
  ['a greater number', integer(5), 'maximum', integer(7), integer('7')],
  ['a lesser number', integer(5), 'maximum', integer(3), integer('5')],
  ['an equal double', integer(5), 'maximum', double(5), integer('5')],
  ['a greater double', integer(5), 'maximum', double(5.5), double(5.5)],
  ['another type', text('x'), 'maximum', integer(1), integer('1')],
  ['NaN', integer(5), 'maximum', double(NaN), double(NaN)],
  ['NaN', double(NaN), 'minimum', integer(5), double(NaN)],
  ['a lesser number', integer(5), 'minimum', integer(3), integer('3')],
  ['an equal integer', double(3), 'minimum', integer(3), double(3)],
])('with %s: %o, %s %o', async (_, stored, kind, operand, expected) => {
  await set({ v: stored });
  const fieldTransforms = [{ fieldPath: 'v', [kind]: operand }];
  const [{ writeResults }] = await raw.commit({
    database,
    writes: [{ transform: { document: name, fieldTransforms } }],
  });
  expect(writeResults?.[0]?.transformResults).toMatchObject([expected]);
  expect((await raw.getDocument({ name }))[0].fields).toMatchObject({ v: expected });
});

test('a document is created, got, updated and deleted, each by its own operation', async () => {
  const document = { fields: { a: integer(1), b: integer(2) } };
  const [created] = await raw.createDocument({ parent: ROOT, collectionId: 'own', documentId: 'x', document });
  expect(created).toMatchObject({ name: `${ROOT}/own/x`, fields: { a: integer('1'), b: integer('2') } });
  const again = raw.createDocument({ parent: ROOT, collectionId: 'own', documentId: 'x', document });
  expect(await rejection(again)).toMatchObject({ code: 6 });
  const [generated] = await raw.createDocument({ parent: ROOT, collectionId: 'own', document });
  expect(generated.name).toMatch(/\/own\/[A-Za-z0-9]{20}$/);

  const own = `${ROOT}/own/x`;
  const mask = { fieldPaths: ['a'] };
  expect(Object.keys((await raw.getDocument({ name: own, mask }))[0].fields ?? {})).toEqual(['a']);
  const update = { name: own, fields: { a: integer(3) } };
  const [updated] = await raw.updateDocument({ document: update, updateMask: mask });
  expect(updated.fields).toMatchObject({ a: integer('3'), b: integer('2') });
  const [replaced] = await raw.updateDocument({ document: update });
  expect(Object.keys(replaced.fields ?? {})).toEqual(['a']);
  const absent = { document: { name: `${ROOT}/own/none` }, currentDocument: { exists: true } };
  expect(await rejection(raw.updateDocument(absent))).toMatchObject({ code: 5 });

  await raw.deleteDocument({ name: own });
  expect(await rejection(raw.getDocument({ name: own }))).toMatchObject({ code: 5 });
  expect(await rejection(raw.deleteDocument({ name: own, currentDocument: { exists: true } }))).toMatchObject({
    code: 5,
  });
});

test('a page of documents has 30 by default; a malformed token and a negative size are refused', async () => {
  await commit(...Array.from({ length: 31 }, (_, i) => ({ update: { name: `${ROOT}/pages/${i}` } })));
  const listing = { parent: ROOT, collectionId: 'pages' };
  const options = { autoPaginate: false };
  const [documents, next] = await raw.listDocuments(listing, options);
  expect(documents).toHaveLength(30);
  expect((await raw.listDocuments({ ...listing, pageToken: next?.pageToken ?? '' }, options))[0]).toHaveLength(1);
  for (const wrong of [{ pageToken: 'bad token' }, { pageToken: 'aaaa' }, { pageSize: -1 }]) {
    expect(await rejection(raw.listDocuments({ ...listing, ...wrong }, options))).toMatchObject(refused);
  }
});

test('texts that agree in their first 1,500 bytes are equal in an order', async () => {
  const long = 'x'.repeat(1500);
  const texts = { a: `${long}z`, b: `${long}a`, c: `${'x'.repeat(1499)}w` };
  const toWrite = ([id, v]: [string, string]): Write => ({
    update: { name: `${ROOT}/long/${id}`, fields: { v: text(v) } },
  });
  await commit(...Object.entries(texts).map(toWrite));
  const query = { from: [{ collectionId: 'long' }], orderBy: [by('v'), by('__name__')] };
  expect(await runRaw(raw, ROOT, query)).toEqual(['c', 'a', 'b']);
});
