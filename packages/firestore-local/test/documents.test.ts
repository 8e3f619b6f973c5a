import { FieldPath, FieldValue, GeoPoint, Timestamp, type Firestore } from '@google-cloud/firestore';
import { databaseName, rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const INVALID_ARGUMENT = 3;

describe('a document', () => {
  // https://firebase.google.com/docs/firestore/manage-data/data-types
  it('stores every type of value', async () => {
    const db = bench.client();
    const data = {
      none: null,
      yes: true,
      integer: 2 ** 40,
      negative: -7,
      double: 0.1,
      nan: NaN,
      text: 'grüße 😀',
      bytes: Buffer.from([0, 255]),
      time: new Timestamp(1_700_000_000, 123_456_000),
      place: new GeoPoint(-1.5, 100),
      link: db.doc('b/2'),
      list: [1, 'two', { three: [3] }],
      map: { empty: {}, 'a.b': 1, deep: { deeper: [] } },
    };
    await db.doc('a/1').set(data);
    expect((await db.doc('a/1').get()).data()).toEqual(data);
  });

  it('stores timestamps with microsecond precision', async () => {
    const db = bench.client();
    await db.doc('a/1').set({ at: new Timestamp(5, 123_456_789) });
    expect((await db.doc('a/1').get()).get('at')).toEqual(new Timestamp(5, 123_456_000));
  });

  it('is returned by getAll with its mask, in the requested order, also if it is missing', async () => {
    const db = bench.client();
    await db.doc('a/1').set({ x: 1, y: { z: 2, w: 3 }, 'a.b': 4 });
    const [one, two, again] = await db.getAll(db.doc('a/1'), db.doc('a/2'), db.doc('a/1'), {
      fieldMask: ['y.z', 'nowhere'],
    });
    expect(one?.data()).toEqual({ y: { z: 2 } });
    expect(two?.exists).toBe(false);
    expect(again?.data()).toEqual({ y: { z: 2 } });
  });

  it('is stored by addIfEmpty as a client stores it, in a project without documents only', async () => {
    const data = {
      none: null,
      yes: true,
      integer: 2 ** 40,
      negative: -7,
      double: 0.5,
      text: 'grüße 😀',
      list: [1, 'two', { three: [3.5] }],
      map: { empty: {}, 'a.b': 1, deep: { deeper: [] } },
    };
    const [db, added] = [bench.client(), bench.client()];
    const document = { collection: 'a', id: '1', data };
    const [, project = ''] = databaseName(added).split('/');
    await db.doc('a/1').set(data);
    expect(await bench.server.addIfEmpty(project, [document])).toBe(1);
    expect(await bench.server.addIfEmpty(project, [{ ...document, id: '2' }])).toBe(0);

    const read = async (client: Firestore) => {
      const parent = `${databaseName(client)}/documents`;
      const [documents] = await bench.raw().listDocuments({ parent, collectionId: 'a' });
      return documents.map(({ name, fields }) => [name?.split('/').at(-1), fields]);
    };
    expect(await read(added)).toEqual(await read(db));
    await expect(bench.server.addIfEmpty('other', [{ ...document, data: { no: undefined } }])).rejects.toThrow('plain');
  });

  it('exists in one project and database only', async () => {
    const [here, there] = [bench.client(), bench.client()];
    await here.doc('a/1').set({ here: true });
    expect((await there.doc('a/1').get()).exists).toBe(false);
    expect((await there.collection('a').get()).empty).toBe(true);
  });
});

describe('a write', () => {
  it('checks the preconditions of create, update and delete, with the documented messages', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    const name = `${databaseName(db)}/documents/a/1`;
    expect(await rejection(ref.update({ x: 1 }))).toMatchObject({
      code: NOT_FOUND,
      details: `No document to update: ${name}`,
    });
    const created = await ref.create({ x: 1 });
    expect(await rejection(ref.create({ x: 2 }))).toMatchObject({
      code: ALREADY_EXISTS,
      details: `Document already exists: ${name}`,
    });
    const updated = await ref.update({ x: 2 }, { lastUpdateTime: created.writeTime });
    expect(await rejection(ref.update({ x: 3 }, { lastUpdateTime: created.writeTime }))).toMatchObject({
      code: FAILED_PRECONDITION,
      details: expect.stringMatching(
        /^the stored version \(\d+\) does not match the required base version \(\d+\)$/,
      ) as unknown,
    });
    expect(await rejection(ref.delete({ lastUpdateTime: created.writeTime }))).toMatchObject({
      code: FAILED_PRECONDITION,
    });
    await ref.delete({ lastUpdateTime: updated.writeTime });
    expect(await rejection(ref.delete({ exists: true }))).toMatchObject({ code: NOT_FOUND });
    await ref.delete();
  });

  it('with merge or update changes the named fields only, removes those without a value, and reaches into maps', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await ref.set({ keep: 1, map: { a: 1, b: 2 }, 'dotted.name': 1 });
    await ref.set({ map: { b: 3, c: 4 } }, { merge: true });
    expect((await ref.get()).data()).toEqual({ keep: 1, map: { a: 1, b: 3, c: 4 }, 'dotted.name': 1 });
    await ref.update({ 'map.a': FieldValue.delete(), 'new.deep': 'x', keep: { now: 'a map' } });
    expect((await ref.get()).data()).toEqual({
      keep: { now: 'a map' },
      map: { b: 3, c: 4 },
      new: { deep: 'x' },
      'dotted.name': 1,
    });
    await ref.set({ other: 1, map: { ignored: 1 } }, { mergeFields: ['other'] });
    expect((await ref.get()).get('map')).toEqual({ b: 3, c: 4 });
    await db.doc('a/2').set({}, { merge: true });
    expect((await db.doc('a/2').get()).data()).toEqual({});
  });

  it('that fails undoes all writes of its commit', async () => {
    const db = bench.client();
    const batch = db.batch().set(db.doc('a/1'), { x: 1 }).update(db.doc('a/2'), { x: 1 });
    expect(await rejection(batch.commit())).toMatchObject({ code: NOT_FOUND });
    expect((await db.doc('a/1').get()).exists).toBe(false);
  });

  it('sees the earlier writes of its batch to the same document', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await db
      .batch()
      .set(ref, { n: 1 })
      .update(ref, { n: FieldValue.increment(4) })
      .delete(ref)
      .create(ref, { m: 1 })
      .commit();
    expect((await ref.get()).data()).toEqual({ m: 1 });
  });

  it('gets the update time of its commit, later than every earlier one', async () => {
    const db = bench.client();
    const times: bigint[] = [];
    for (let i = 0; i < 20; i++) {
      const results = await db.batch().set(db.doc('a/1'), { i }).set(db.doc('a/2'), { i }).commit();
      const [first, second] = results.map(
        ({ writeTime }) => BigInt(writeTime.seconds) * 1_000_000_000n + BigInt(writeTime.nanoseconds),
      );
      expect(first).toBe(second);
      times.push(first ?? 0n);
    }
    expect([...times].sort((a, b) => Number(a - b))).toEqual(times);
    expect(new Set(times).size).toBe(20);
  });

  // google/firestore/v1/write.proto, WriteResult.update_time: "If the write did not actually change the document…"
  it('that changes nothing keeps the update time', async () => {
    const ref = bench.client().doc('a/1');
    const first = await ref.set({ b: 1, a: [{ x: 1 }] });
    const second = await ref.set({ a: [{ x: 1 }], b: 1 });
    expect(second.writeTime).toEqual(first.writeTime);
    const snapshot = await ref.get();
    expect(snapshot.updateTime).toEqual(first.writeTime);
    expect(snapshot.createTime).toEqual(first.writeTime);
  });

  // https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1#fieldtransform
  it('transforms fields', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await ref.set({ integer: 5, text: 'x', list: [1, 2, NaN], big: 1 });
    await ref.update({
      integer: FieldValue.increment(2.5),
      text: FieldValue.increment(3),
      'new.counter': FieldValue.increment(1),
      list: FieldValue.arrayUnion(2, 3, 3, NaN),
      other: FieldValue.arrayUnion('a'),
      at: FieldValue.serverTimestamp(),
    });
    const snapshot = await ref.get();
    expect(snapshot.data()).toMatchObject({
      integer: 7.5,
      text: 3,
      new: { counter: 1 },
      list: [1, 2, NaN, 3],
      other: ['a'],
    });
    const at = snapshot.get('at') as Timestamp;
    expect(at.nanoseconds % 1_000_000).toBe(0);
    expect(Math.abs(at.toMillis() - Date.now())).toBeLessThan(5000);
    await ref.update({ list: FieldValue.arrayRemove(1, NaN, 9), missing: FieldValue.arrayRemove(1) });
    expect((await ref.get()).data()).toMatchObject({ list: [2, 3], missing: [] });
  });

  it('limits increments to 64 bits, and returns the results of transforms', async () => {
    const db = bench.client();
    const raw = bench.raw();
    const name = `${databaseName(db)}/documents/a/1`;
    const transform = async (...updateTransforms: object[]): Promise<unknown> => {
      const write = { update: { name }, updateMask: {}, updateTransforms };
      const [response] = await raw.commit({ database: databaseName(db), writes: [write] });
      return response.writeResults?.[0]?.transformResults?.map((value) => value.integerValue ?? value.nullValue);
    };
    const max = '9223372036854775807';
    expect(await transform({ fieldPath: 'm', increment: { integerValue: max } })).toEqual([max]);
    const elements = { fieldPath: 'l', appendMissingElements: { values: [{ integerValue: 1 }] } };
    expect(await transform({ fieldPath: 'm', increment: { integerValue: 1 } }, elements)).toEqual([max, 'NULL_VALUE']);
  });

  it('of a BulkWriter succeeds or fails on its own', async () => {
    const db = bench.client();
    await db.doc('a/2').set({ x: 0 });
    const writer = db.bulkWriter();
    writer.onWriteError(() => false);
    const outcomes = await Promise.allSettled([
      ...[writer.create(db.doc('a/1'), { x: 1 }), writer.create(db.doc('a/2'), { x: 1 })],
      ...[writer.update(db.doc('a/3'), { x: 1 }), writer.set(db.doc('a/4'), { x: 1 })],
      writer.close(),
    ]);
    const codes = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as { code: number }).code : 0,
    );
    expect(codes).toEqual([0, ALREADY_EXISTS, NOT_FOUND, 0, 0]);
    expect((await db.collection('a').get()).docs.map((doc) => doc.get('x') as number)).toEqual([1, 0, 1]);
  });
});

// https://firebase.google.com/docs/firestore/quotas
describe('limits', () => {
  it('reject a document over 1 MiB, by the documented sizes', async () => {
    const ref = bench.client().doc('a/1');
    // Name: 2 + 2 + 16; each field: 2 + value + 1 for the text; 32 more. A single text may not be so long.
    const fits = 1024 * 1024 - 20 - 3 - 3 - 1000 - 32;
    const y = 'y'.repeat(1000);
    await ref.set({ x: 'x'.repeat(fits), y });
    expect(await rejection(ref.set({ x: 'x'.repeat(fits + 1), y }))).toMatchObject({
      code: INVALID_ARGUMENT,
      details: expect.stringContaining(
        'size (1,048,577 bytes) exceeds the maximum allowed size of 1,048,576 bytes',
      ) as unknown,
    });
  });

  it('reject a commit over 10 MiB', async () => {
    const db = bench.client();
    const batch = db.batch();
    for (let i = 0; i < 11; i++) batch.set(db.doc(`a/${i}`), { x: 'x'.repeat(1_000_000) });
    expect(await rejection(batch.commit())).toMatchObject({ code: INVALID_ARGUMENT });
    expect((await db.collection('a').count().get()).data().count).toBe(0);
  });

  it('accept a commit with more than 500 writes', async () => {
    const db = bench.client();
    const batch = db.batch();
    for (let i = 0; i < 1200; i++) batch.set(db.doc(`a/${i}`), { i });
    await batch.commit();
    expect((await db.collection('a').count().get()).data().count).toBe(1200);
  });

  it.each([['__x__'], ['____'], ['x'.repeat(1501)], ['..'], ['__\n__']])('reject the document id %j', async (id) => {
    const db = bench.client();
    expect(await rejection(db.collection('a').doc(id).set({}))).toMatchObject({ code: INVALID_ARGUMENT });
    expect(await rejection(db.collection('a').doc(id).get())).toMatchObject({ code: INVALID_ARGUMENT });
  });

  // https://cloud.google.com/datastore/docs/firestore-or-datastore: ids that Datastore assigned
  it('accept numeric document ids, which sort by number', async () => {
    const db = bench.client();
    const ids = ['__id-3__', '__id7__', '__id10__', '5', 'a'];
    for (const id of ids) await db.collection('a').doc(id).set({ id });
    const documents = await db.collection('a').get();
    expect(documents.docs.map((doc) => doc.get('id') as string)).toEqual(ids);
    const after = db.collection('a').where(FieldPath.documentId(), '>', '__id7__');
    expect((await after.get()).docs.map(({ id }) => id)).toEqual(['__id10__', '5', 'a']);
    for (const id of ['__id9223372036854775808__', '__id__', '__id1x__']) {
      expect(await rejection(db.collection('a').doc(id).set({}))).toMatchObject({ code: INVALID_ARGUMENT });
    }
    expect(await rejection(db.collection('__id7__').doc('a').set({}))).toMatchObject({ code: INVALID_ARGUMENT });
  });

  it('accept ids of 1,500 bytes, and ids that resemble reserved ones', async () => {
    const db = bench.client();
    for (const id of ['x'.repeat(1500), '__x', 'x__', '...', 'ü 😀', 'constructor', '__proto']) {
      await db.collection('a').doc(id).set({ id });
      expect((await db.collection('a').doc(id).get()).get('id')).toBe(id);
    }
  });

  it('reject reserved field names', async () => {
    expect(
      await rejection(
        bench
          .client()
          .doc('a/1')
          .set({ m: { __x__: 1 } }),
      ),
    ).toMatchObject({ code: INVALID_ARGUMENT });
  });

  it('reject more than 20 levels of nesting', async () => {
    const ref = bench.client().doc('a/1');
    const nested = (levels: number): object => (levels === 0 ? {} : { x: nested(levels - 1) });
    // The fields themselves are no level: x holds the first map.
    await ref.set(nested(20));
    expect(await rejection(ref.set(nested(21)))).toMatchObject({ code: INVALID_ARGUMENT });
  });

  it('reject a document with more than 40,000 index entries: two per field or map, one per element', async () => {
    const db = bench.client();
    const prices = (products: number): object =>
      Object.fromEntries(Array.from({ length: products }, (_, i) => [`product${i}`, { list: 1, cost: 2 }]));
    // Two entries for `products`, and six for each product: its map and two numbers.
    await db.doc('a/1').set({ products: prices(6666) });
    expect(await rejection(db.doc('a/1').set({ products: prices(6667) }))).toMatchObject({
      code: INVALID_ARGUMENT,
      details: 'too many index entries for entity',
    });
    await db.doc('a/2').set({ list: Array.from({ length: 39_998 }, (_, i) => i) });
    expect(await rejection(db.doc('a/2').set({ list: Array.from({ length: 39_999 }, (_, i) => i) }))).toMatchObject({
      code: INVALID_ARGUMENT,
    });
  });

  it('count no index entries of fields that firestore.indexes.json exempts', async () => {
    const exempting = await startFirestoreTestServer({
      indexes: { fieldOverrides: [{ collectionGroup: 'a', fieldPath: 'products', indexes: [] }] },
    });
    const db = exempting.client();
    const products = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, { list: 1 }]));
    await db.doc('a/1').set({ products });
    expect(await rejection(db.doc('b/1').set({ products }))).toMatchObject({ code: INVALID_ARGUMENT });
    await exempting.close();
  });
});

describe('a listing', () => {
  it('returns the collections below the root or below a document', async () => {
    const db = bench.client();
    await db.doc('b/1').set({});
    await db.doc('a/1/sub/2').set({});
    await db.doc('a/1/sub2/2').set({});
    await db.doc('gone/1').set({});
    await db.doc('gone/1').delete();
    expect((await db.listCollections()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect((await db.doc('a/1').listCollections()).map(({ id }) => id)).toEqual(['sub', 'sub2']);
  });

  it('returns documents, with those that only have subcollections', async () => {
    const db = bench.client();
    await db.doc('a/2').set({ x: 1 });
    await db.doc('a/1/sub/x').set({});
    await db.doc('a/3/sub/x/deep/y').set({});
    expect((await db.collection('a').listDocuments()).map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect((await db.collection('a').get()).size).toBe(1);
  });

  it('returns pages', async () => {
    const db = bench.client();
    for (const id of ['c', 'a', 'b']) await db.doc(`x/${id}`).set({});
    const raw = bench.raw();
    const parent = `${databaseName(db)}/documents`;
    const ids: (string | null | undefined)[] = [];
    for await (const document of raw.listDocumentsAsync({ parent, collectionId: 'x', pageSize: 2 }))
      ids.push(document.name);
    expect(ids.map((name) => name?.slice(-1))).toEqual(['a', 'b', 'c']);
  });

  it('is empty after recursiveDelete, which queries documents of every collection', async () => {
    const db = bench.client();
    for (const path of ['a/1', 'a/1/b/2', 'a/1/b/2/c/3', 'a/2/b/1', 'ab/1']) await db.doc(path).set({});
    await db.recursiveDelete(db.collection('a'));
    expect((await db.listCollections()).map(({ id }) => id)).toEqual(['ab']);
  });
});
