import type { DocumentData, Query } from '@google-cloud/firestore';
import { prepareQuery, runQuery } from '../src/engine/query';
import { encodeFields } from '../src/protocol/codec';
import { NAME } from '../src/protocol/paths';
import type { Filter, StructuredQuery } from '../src/protocol/requests';
import { Reference } from '../src/protocol/values';
import { getResourceName, type StoredDoc } from '../src/storage/collections';
import { Store } from '../src/storage/store';
import { startFirestoreTestServer, type FirestoreTestServer } from './support';

/* Queries of collections that are larger than those in the recording of Google's emulator. */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());

const ids = async (query: Query): Promise<string[]> => (await query.get()).docs.map(({ id }) => id);

const toId = (i: number): string => String(i).padStart(4, '0');

describe('a large collection', () => {
  const SIZE = 3000;
  const dataOf = (i: number): DocumentData => ({ team: i % 7, half: i % 2, i: (i * 7) % SIZE });
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

describe('a query in the order of names reads about as many documents as its limit', () => {
  const DATABASE = 'projects/p/databases/(default)';
  const PARENTS = 20;
  const SIZE = 1000;
  const fields = encodeFields(new Map([['team', null]]));
  const store = new Store(undefined, Date.now);
  beforeAll(() => {
    for (let parent = 0; parent < PARENTS; parent++) {
      const collection = `${DATABASE}/documents/a/${toId(parent)}/c`;
      const docs = Array.from({ length: SIZE }, (_, i) => {
        return { collection, id: toId(i), fields, createTime: 1, updateTime: 1, row: 0 };
      });
      store.apply(
        docs.map((doc) => ({ collection, id: doc.id, old: undefined, doc })),
        store.nextTime(),
      );
    }
  });

  const reference = (path: string) => new Reference(`${DATABASE}/documents/${path}`);

  /** Without an equality, Firestore rejects the descending order of names. */
  const filter: Filter = { kind: 'isNull', path: ['team'] };
  const after = (path: string, descending = false) => ({
    orderBy: [{ path: NAME, descending }],
    startAt: { values: [reference(path)], before: false },
  });
  const from: Filter = { kind: 'field', path: NAME, op: '>=', value: reference('a/0010/c/0500') };

  test.each<[string, Partial<StructuredQuery>, string]>([
    ['ascending', after('a/0010/c/0500'), 'a/0010/c/0501'],
    ['descending', after('a/0010/c/0500', true), 'a/0010/c/0499'],
    ['from the next collection', after('a/0010/c/0999'), 'a/0011/c/0000'],
    ['from the name in a filter', { filter: { kind: 'and', filters: [filter, from] } }, 'a/0010/c/0500'],
  ])('%s', (_, query, first) => {
    const prepared = prepareQuery({
      ...{ parent: `${DATABASE}/documents`, collectionId: 'c', allDescendants: true, select: undefined },
      ...{ filter, orderBy: [], startAt: undefined, limit: 2 },
      ...query,
    });
    let read = 0;
    const matches = (doc: StoredDoc) => (read += 1) > 0 && prepared.matches(doc);
    const [found] = runQuery({ ...prepared, matches }, store, undefined);
    expect(found && getResourceName(found)).toBe(`${DATABASE}/documents/${first}`);
    expect(read).toBeLessThan(SIZE);
  });
});
