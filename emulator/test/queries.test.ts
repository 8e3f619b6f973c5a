import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { prepareQuery, runQuery } from '../src/engine/query';
import { encodeFields } from '../src/protocol/codec';
import { NAME } from '../src/protocol/paths';
import type { Filter, StructuredQuery } from '../src/protocol/requests';
import { Reference } from '../src/protocol/values';
import { getResourceName, type StoredDoc } from '../src/storage/collections';
import { Store } from '../src/storage/store';
import { startFirestoreTestServer } from './support';

/*
 * Tests what the recording of Google's emulator does not show: which versions a query returns if documents change while it runs,
 * that it waits for a slow client, and how many documents it reads.
 */

const toId = (i: number): string => String(i).padStart(4, '0');

test('a query returns the documents as they were when it began', async () => {
  const bench = await startFirestoreTestServer();
  const c = bench.client().collection('c');
  await Promise.all(['1', '2', '3'].map((id) => c.doc(id).set({ changed: false })));
  const run = async (): Promise<void> => {
    await c.doc('3').set({ changed: true });
    // This query creates another snapshot, which the query under test must not read.
    await c.limit(1).get();
  };
  const action = { kind: 'call', run } as const;
  const fault = bench.server.faults.inject({ rpc: 'RunQuery', when: { messages: 1 }, action });
  const { docs } = await c.get();
  expect(fault.count).toBe(1);
  expect(docs.map((doc) => doc.get('changed') as unknown)).toEqual([false, false, false]);
  await bench.close();
});

test('a query waits for a client that stops reading', async () => {
  const bench = await startFirestoreTestServer();
  const data = { text: 'x'.repeat(1_000_000) };
  const documents = Array.from({ length: 40 }, (_, i) => ({ collection: 'c', id: toId(i), data }));
  await bench.server.addIfEmpty('slow', documents);
  let ended = 0;
  bench.server.observe(() => ended++);
  const results = bench.client('slow').collection('c').stream();
  await once(results, 'readable');
  await setTimeout(300);
  expect(ended).toBe(0);
  await once(results.resume(), 'end');
  expect(ended).toBe(1);
  await bench.close();
});

describe('a query with a limit, in the order of names, reads fewer documents than one collection has', () => {
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
    ['ascending, from the next collection', after('a/0010/c/0999'), 'a/0011/c/0000'],
    ['ascending, from the name in a filter', { filter: { kind: 'and', filters: [filter, from] } }, 'a/0010/c/0500'],
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
