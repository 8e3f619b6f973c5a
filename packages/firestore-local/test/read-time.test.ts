import { AggregateField, Timestamp, type DocumentData, type Firestore, type Query } from '@google-cloud/firestore';
import { rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());
afterEach(() => bench.server.faults.clear());

const FAILED_PRECONDITION = 9;

const MINUTE_MS = 60_000;

/** Runs a query at a read time. */
const readAt = async (db: Firestore, readTime: Timestamp, query: Query): Promise<Record<string, DocumentData>> => {
  const snapshot = await db.runTransaction((transaction) => transaction.get(query), { readOnly: true, readTime });
  expect(snapshot.readTime).toEqual(readTime);
  return Object.fromEntries(snapshot.docs.map((doc) => [doc.id, doc.data()]));
};

describe('a read time', () => {
  it('selects the versions of that time in queries, gets and aggregations, despite later writes', async () => {
    const db = bench.client();
    const c = db.collection('c');
    await db.batch().set(c.doc('1'), { n: 1 }).set(c.doc('2'), { n: 2 }).set(c.doc('3'), { n: 3 }).commit();
    const { readTime } = await c.get();
    await db.batch().update(c.doc('1'), { n: 10 }).delete(c.doc('2')).create(c.doc('4'), { n: 4 }).commit();
    await c.doc('2').set({ n: 20 });

    const before = { '1': { n: 1 }, '2': { n: 2 }, '3': { n: 3 } };
    expect(await readAt(db, readTime, c)).toEqual(before);
    expect(await readAt(db, readTime, c.where('n', '>', 1).orderBy('n', 'desc'))).toEqual({ 2: { n: 2 }, 3: { n: 3 } });
    expect(await readAt(db, readTime, db.collectionGroup('c'))).toEqual(before);
    await db.runTransaction(
      async (transaction) => {
        const docs = await transaction.getAll(...['1', '2', '3', '4'].map((id) => c.doc(id)));
        expect(docs.map((doc) => doc.data())).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, undefined]);
        expect(docs.map((doc) => doc.readTime)).toEqual(docs.map(() => readTime));
        const sum = c.aggregate({ sum: AggregateField.sum('n'), count: AggregateField.count() });
        expect((await transaction.get(sum)).data()).toEqual({ sum: 6, count: 3 });
      },
      { readOnly: true, readTime },
    );
    expect((await c.get()).docs.map((doc) => doc.get('n') as number)).toEqual([10, 20, 3, 4]);
  });

  it('makes a resumed query return what it would have returned without the error, despite writes in between', async () => {
    const db = bench.client();
    const c = db.collection('c');
    const batch = db.batch();
    for (let i = 0; i < 40; i++) batch.set(c.doc(`${i}`.padStart(2, '0')), { i });
    await batch.commit();
    const cut = bench.server.faults.inject({
      rpc: 'RunQuery',
      when: { messages: 15 },
      action: {
        kind: 'call',
        // Behind the 15 documents that the client has, and ahead of them.
        run: async () => {
          await db
            .batch()
            .delete(c.doc('03'))
            .update(c.doc('20'), { i: -1 })
            .delete(c.doc('30'))
            .create(c.doc('200'), { i: 7 })
            .commit();
        },
      },
    });
    bench.server.faults.inject({
      rpc: 'RunQuery',
      when: { messages: 15 },
      action: { kind: 'error', code: 'UNAVAILABLE' },
    });
    const snapshot = await c.orderBy('i').get();
    expect(cut.count).toBe(1);
    expect(snapshot.docs.map((doc) => doc.get('i') as number)).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect((await c.get()).size).toBe(39);
  });

  it('separates the commits before it from those after it, even if the clock stands still', async () => {
    const still = await startFirestoreTestServer({ clock: () => 5_000 });
    const db = still.client();
    const versions: Timestamp[] = [];
    for (let n = 0; n < 20; n++) {
      await db.doc('c/1').set({ n });
      versions.push((await db.collection('c').get()).readTime);
    }
    for (const [n, readTime] of versions.entries()) {
      expect(await readAt(db, readTime, db.collection('c'))).toEqual({ '1': { n } });
    }
    await still.close();
  });

  it('is rejected if it is older than an hour', async () => {
    let now = Date.UTC(2026, 0, 1);
    const own = await startFirestoreTestServer({ clock: () => now });
    const db = own.client();
    const c = db.collection('c');
    await c.doc('1').set({ n: 1 });
    const { readTime } = await c.get();
    now += 10 * MINUTE_MS;
    await c.doc('1').set({ n: 2 });
    now += 49 * MINUTE_MS;
    await db.doc('other/1').set({});
    expect(await readAt(db, readTime, c)).toEqual({ '1': { n: 1 } });
    expect(await readAt(db, readTime, db.collection('other'))).toEqual({});
    now += 2 * MINUTE_MS;
    expect(await rejection(readAt(db, readTime, c))).toMatchObject({
      code: FAILED_PRECONDITION,
      details: 'The requested snapshot version is too old.',
    });
    const later = Timestamp.fromMillis(now - 55 * MINUTE_MS);
    expect(await readAt(db, later, c)).toEqual({ '1': { n: 1 } });
    await own.close();
  });
});
