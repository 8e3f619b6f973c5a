import { Timestamp, type Firestore } from '@google-cloud/firestore';
import { databaseName, rejection, startFirestoreTestServer as start, type FirestoreTestServer } from './support';

/* What the replay of Google's emulator does not reach: it has other limits, and its own clock. */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await start()));
afterAll(() => bench.close());

const INVALID_ARGUMENT = 3;

test('addIfEmpty stores a document as a client does, in an empty project only', async () => {
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
    const { docs } = await client.collection('a').get();
    return docs.map((doc) => [doc.id, doc.data()]);
  };
  expect(await read(added)).toEqual(await read(db));
  const odd = bench.server.addIfEmpty('other', [{ ...document, data: { no: undefined } }]);
  await expect(odd).rejects.toThrow('plain');
});

test('update times follow the clock, in microseconds', async () => {
  const own = await start({ clock: () => 5_001.002 });
  const { writeTime } = await own.client().doc('a/1').set({});
  expect(writeTime).toEqual(new Timestamp(5, 1_002_000));
  await own.close();
});

// https://firebase.google.com/docs/firestore/quotas
describe('limits', () => {
  it('reject a document over 1 MiB, by the documented sizes', async () => {
    const ref = bench.client().doc('a/1');
    // The name takes 2 + 2 + 16 bytes, each field 2 bytes, its text and 1 more, and the document another 32.
    const fits = 1024 * 1024 - 20 - 3 - 3 - 1000 - 32;
    const y = 'y'.repeat(1000);
    await ref.set({ x: 'x'.repeat(fits), y });
    const { code, details } = await rejection(ref.set({ x: 'x'.repeat(fits + 1), y }));
    expect(code).toBe(INVALID_ARGUMENT);
    expect(details).toContain('size (1,048,577 bytes) exceeds the maximum');
  });

  it('reject a commit over 10 MiB', async () => {
    const db = bench.client();
    const batch = db.batch();
    for (let i = 0; i < 11; i++) batch.set(db.doc(`a/${i}`), { x: 'x'.repeat(1_000_000) });
    expect(await rejection(batch.commit())).toMatchObject({ code: INVALID_ARGUMENT });
    expect((await db.collection('a').count().get()).data().count).toBe(0);
  });

  it('reject more than 40,000 index entries', async () => {
    const ref = bench.client().doc('a/1');
    const distinct = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
    // Two entries for the field, and one for each distinct element.
    await ref.set({ list: [...distinct(39_998), 1] });
    expect(await rejection(ref.set({ list: distinct(39_999) }))).toMatchObject({
      code: INVALID_ARGUMENT,
      details: 'too many index entries for entity',
    });
  });
});
