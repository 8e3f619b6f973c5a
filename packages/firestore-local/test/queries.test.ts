import type { DocumentData, Query } from '@google-cloud/firestore';
import { startFirestoreTestServer, type FirestoreTestServer } from './support';

/* Queries of collections that are larger than those in the recording of Google's emulator. */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());

const ids = async (query: Query): Promise<string[]> => (await query.get()).docs.map(({ id }) => id);

describe('a large collection', () => {
  const SIZE = 3000;
  const dataOf = (i: number): DocumentData => ({ team: i % 7, half: i % 2, i: (i * 7) % SIZE });
  const toId = (i: number): string => String(i).padStart(4, '0');
  /** Returns the ids of the documents that a naive filter finds, in the order of `i` or of the ids. */
  const expected = (matches: (data: DocumentData) => boolean, byId = false): string[] => {
    const found = Array.from({ length: SIZE }, (_, i) => ({ id: toId(i), data: dataOf(i) }));
    const kept = found.filter(({ data }) => matches(data));
    if (!byId) kept.sort((x, y) => (x.data['i'] as number) - (y.data['i'] as number));
    return kept.map(({ id }) => id);
  };

  async function fill(): Promise<FirebaseFirestore.CollectionReference> {
    const db = bench.client();
    for (let from = 0; from < SIZE; from += 1000) {
      const batch = db.batch();
      // The documents do not arrive in the order of their ids.
      for (let n = from; n < from + 1000; n++) {
        const i = (n * 1009) % SIZE;
        batch.set(db.doc(`c/${toId(i)}`), dataOf(i));
      }
      await batch.commit();
    }
    return db.collection('c');
  }

  it('returns what a naive filter finds', async () => {
    const c = await fill();
    const of3 = c.where('team', '==', 3.0);
    expect(await ids(of3)).toEqual(expected(({ team }) => team === 3, true));
    expect(await ids(of3.where('half', '==', 1).orderBy('i'))).toEqual(
      expected(({ team, half }) => team === 3 && half === 1),
    );
    expect(await ids(c.orderBy('i').limit(5))).toEqual(expected(() => true).slice(0, 5));
    expect(await ids(c.orderBy('team').limit(5))).toEqual(expected(({ team }) => team === 0, true).slice(0, 5));
    expect(await ids(c.limit(600))).toEqual(expected(() => true, true).slice(0, 600));
  });

  it('is read as it was when the query began', async () => {
    const c = await fill();
    const change = (i: number) => c.doc(toId(i)).update({ changed: true });
    const run = async (): Promise<void> => {
      await Promise.all([1, 2000, 2999].map(change));
      // The next query puts the written documents into a new sorted array.
      await c.limit(1).get();
    };
    const action = { kind: 'call', run } as const;
    const fault = bench.server.faults.inject({ rpc: 'RunQuery', when: { messages: 1 }, action });
    const { docs } = await c.get();
    expect(fault.count).toBe(1);
    expect(new Set(docs.map((doc) => doc.get('changed') as unknown))).toEqual(new Set([undefined]));
  });
});
