import type { DocumentReference, Firestore } from '@google-cloud/firestore';
import { rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

/*
 * Transactions lock nothing. A commit fails with ABORTED if something that the transaction has read has changed. By default, the
 * SDK then repeats the transaction.
 */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());

const ABORTED = 10;

/** What a transaction reads, the document whose change it must notice, and the new value of `n`. */
const conflicts: [string, (db: Firestore, t: FirebaseFirestore.Transaction) => Promise<unknown>, string, number?][] = [
  ['a document that it read', (db, t) => t.get(db.doc('a/1')), 'a/1'],
  ['the existence of a document that it read', (db, t) => t.get(db.doc('a/new')), 'a/new'],
  ['the result of its query', (db, t) => t.get(db.collection('a').where('n', '==', 1)), 'a/1'],
  ['the number of results of its query', (db, t) => t.get(db.collection('a').where('n', '==', 1)), 'a/1', 2],
  ['a document that its query did not find', (db, t) => t.get(db.collection('a').where('n', '==', 1)), 'a/new'],
  ['the result of its count', (db, t) => t.get(db.collection('a').where('n', '==', 1).count()), 'a/new'],
];

test.each(conflicts)('a transaction fails with ABORTED if %s has changed', async (_, read, changed, n = 1) => {
  const db = bench.client();
  await db.doc('a/1').set({ n: 1 });
  const run = (written: DocumentReference) =>
    db.runTransaction(
      async (transaction) => {
        await read(db, transaction);
        await written.set({ n, changed: true });
        transaction.set(db.doc('b/1'), {});
      },
      { maxAttempts: 1 },
    );
  await run(db.doc('x/1'));
  await db.doc('b/1').delete();
  expect(await rejection(run(db.doc(changed)))).toMatchObject({ code: ABORTED });
  expect((await db.doc('b/1').get()).exists).toBe(false);
});
