import { Timestamp, type DocumentData, type Firestore, type Query } from '@google-cloud/firestore';
import { rejection, startFirestoreTestServer } from './support';

const FAILED_PRECONDITION = 9;

const MINUTE_MS = 60_000;

/** Runs a query at a read time. */
const readAt = async (db: Firestore, readTime: Timestamp, query: Query): Promise<Record<string, DocumentData>> => {
  const snapshot = await db.runTransaction((transaction) => transaction.get(query), { readOnly: true, readTime });
  expect(snapshot.readTime).toEqual(readTime);
  return Object.fromEntries(snapshot.docs.map((doc) => [doc.id, doc.data()]));
};

describe('a read time', () => {
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

  it('follows a clock that goes back, once the data is cleared', async () => {
    let now = Date.UTC(2026, 0, 2);
    const own = await startFirestoreTestServer({ clock: () => now });
    const c = own.client().collection('c');
    await c.doc('1').set({});
    now = Date.UTC(2026, 0, 1);
    expect((await c.doc('1').get()).readTime.toMillis()).toBe(Date.UTC(2026, 0, 2));
    own.server.clear();
    expect((await c.doc('1').get()).readTime.toMillis()).toBe(now);
    expect((await c.doc('1').set({})).writeTime.toMillis()).toBe(now);
    await own.close();
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
