import { query } from './conformance/calls';
import { connect } from './conformance/protocol';
import { runSequence } from './conformance/sequence';
import { rejection, startFirestoreTestServer as start, type FirestoreTestServer } from './support';

/* Tests behaviour that the recording of Google's emulator does not cover. */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await start()));
afterAll(() => bench.close());

test('addIfEmpty stores a document as a client does, but only in an empty database', async () => {
  const data = {
    none: null,
    yes: true,
    integer: 2 ** 40,
    double: 0.5,
    text: 'grüße 😀',
    list: [1, 'two', { three: [3.5] }],
    map: { empty: {}, 'a.b': 1, deep: { deeper: [] } },
  };
  const document = { collection: 'a', id: '1', data };
  await bench.client('set').doc('a/1').set(data);
  expect(await bench.server.addIfEmpty('added', [document])).toBe(1);
  expect(await bench.server.addIfEmpty('added', [{ ...document, id: '2' }])).toBe(0);

  const server = connect(bench.server.address);
  const read = (project: string) => runSequence(server, `projects/${project}/databases/(default)`, [query()]);
  expect(await read('added')).toEqual(await read('set'));
  server.close();
});

// The limit is in https://firebase.google.com/docs/firestore/quotas. Google's emulator counts entries differently.
test('a document with more than 40,000 index entries is rejected', async () => {
  const ref = bench.client().doc('a/1');
  const distinct = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  // The document has two entries for the field, and one for each distinct element.
  await ref.set({ list: [...distinct(39_998), 1] });
  expect(await rejection(ref.set({ list: distinct(39_999) }))).toMatchObject({
    code: 3,
    details: 'too many index entries for entity',
  });
});
