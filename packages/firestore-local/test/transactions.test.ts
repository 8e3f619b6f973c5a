import type { DocumentReference, Firestore, Transaction } from '@google-cloud/firestore';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseName, rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

/* https://firebase.google.com/docs/firestore/transaction-data-contention, and what SDK 7.11's Transaction relies on. */

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());
afterEach(() => bench.server.faults.clear());

const ABORTED = 10;

const increment = (db: Firestore, ref: DocumentReference): Promise<void> =>
  db.runTransaction(async (transaction) => {
    const n = (await transaction.get(ref)).get('n') as number;
    transaction.update(ref, { n: n + 1 });
  });

describe('concurrent transactions', () => {
  it('that increment one document 50 times all succeed with the exact sum', async () => {
    const db = bench.client();
    const ref = db.doc('counters/1');
    await ref.set({ n: 0 });
    await Promise.all(Array.from({ length: 50 }, () => increment(db, ref)));
    expect((await ref.get()).get('n')).toBe(50);
  });

  it('see no phantom: if 10 look for a document and insert it where there is none, one inserts it', async () => {
    const db = bench.client();
    const seats = db.collection('seats');
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        db.runTransaction(async (transaction) => {
          const taken = await transaction.get(seats.where('seat', '==', '1A'));
          if (!taken.empty) return false;
          transaction.create(seats.doc(`guest${i}`), { seat: '1A' });
          return true;
        }),
      ),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect((await seats.get()).size).toBe(1);
  });

  it('see no phantom in a count', async () => {
    const db = bench.client();
    const people = db.collection('people');
    await Promise.all(
      Array.from({ length: 8 }, () =>
        db.runTransaction(async (transaction) => {
          const { count } = (await transaction.get(people.count())).data();
          transaction.create(people.doc(`number${count}`), {});
        }),
      ),
    );
    expect((await people.get()).docs.map(({ id }) => id)).toEqual(Array.from({ length: 8 }, (_, i) => `number${i}`));
  });

  it('do not block writes outside the ranges of their queries', async () => {
    const db = bench.client();
    const seats = db.collection('seats');
    await db.runTransaction(async (transaction) => {
      await transaction.get(seats.where('seat', '==', '1A'));
      // Were the whole collection locked, this would wait for the transaction, which waits for this.
      await seats.doc('other').set({ seat: '2B' });
      transaction.set(seats.doc('mine'), { seat: '1A' });
    });
    expect((await seats.get()).size).toBe(2);
  });

  it('share the lock of a document that they only read', async () => {
    const db = bench.client();
    await db.doc('markets/1').set({ name: 'm' });
    const both = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const;
    const run = (me: 0 | 1): Promise<void> =>
      db.runTransaction(async (transaction) => {
        await transaction.get(db.doc('markets/1'));
        both[me].resolve(undefined);
        await both[me === 0 ? 1 : 0].promise;
        transaction.set(db.doc(`own/${me}`), {});
      });
    await Promise.all([run(0), run(1)]);
    expect((await db.collection('own').get()).size).toBe(2);
  });
});

describe('locks', () => {
  it('delay a write of what a query found until the transaction ends', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await ref.set({ n: 1 });
    const events: string[] = [];
    let outside: Promise<unknown> = Promise.resolve();
    await db.runTransaction(async (transaction) => {
      await transaction.get(db.collection('a').where('n', '==', 1));
      outside = ref.set({ n: 100 }).then(() => events.push('outside'));
      await sleep(100);
      transaction.set(db.doc('b/1'), {});
      events.push('inside');
    });
    await outside;
    expect(events).toEqual(['inside', 'outside']);
  });

  it('that two transactions need from each other abort the younger one, which retries', async () => {
    const db = bench.client();
    for (const id of ['1', '2']) await db.doc(`a/${id}`).set({ n: 0 });
    const both = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const;
    const attempts = [0, 0];
    const run = (me: 0 | 1): Promise<void> =>
      db.runTransaction(async (transaction) => {
        attempts[me] = (attempts[me] ?? 0) + 1;
        await transaction.get(db.doc(`a/${me + 1}`));
        both[me].resolve(undefined);
        await both[me === 0 ? 1 : 0].promise;
        transaction.set(db.doc(`a/${2 - me}`), { by: me });
      });
    const older = run(0);
    await both[0].promise;
    await Promise.all([older, run(1)]);
    expect(attempts).toEqual([1, 2]);
    expect((await db.getAll(db.doc('a/1'), db.doc('a/2'))).map((doc) => doc.get('by') as number)).toEqual([1, 0]);
  });

  it('that two transactions need from each other return ABORTED to a client that does not retry', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await ref.set({ n: 0 });
    const ready = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const;
    const run = (me: 0 | 1): Promise<void> =>
      db.runTransaction(
        async (transaction) => {
          await transaction.get(ref);
          ready[me].resolve(undefined);
          await ready[me === 0 ? 1 : 0].promise;
          transaction.set(ref, { by: me });
        },
        { maxAttempts: 1 },
      );
    const outcomes = await Promise.allSettled([run(0), run(1)]);
    const [lost] = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(lost?.reason).toMatchObject({ code: ABORTED });
  });
});

describe('the end of a transaction', () => {
  it('by a failed commit releases its locks at once', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    const failing = db.runTransaction(async (transaction) => {
      await transaction.get(ref);
      transaction.update(db.doc('a/missing'), { x: 1 });
    });
    expect(await rejection(failing)).toMatchObject({ code: 5 });
    await ref.set({});
  });

  it('comes two seconds after its connection has closed, and releases its locks', async () => {
    // A server of its own: gRPC shares one connection among all clients of a process for the same address.
    const own = await startFirestoreTestServer();
    const dying = own.client('orphan');
    const held = Promise.withResolvers<undefined>();
    void dying.runTransaction(async (transaction: Transaction) => {
      await transaction.get(dying.doc('a/1'));
      held.resolve(undefined);
      await new Promise(() => undefined);
    });
    await held.promise;
    await dying.terminate();
    const before = performance.now();
    await own.client('orphan').doc('a/1').set({});
    expect(performance.now() - before).toBeGreaterThan(500);
    expect(performance.now() - before).toBeLessThan(8000);
    await own.close();
  });

  it.each([
    ['idle', 300, 5_000],
    ['total', 5_000, 300],
  ])('comes after the %s time', async (_, idleMs, totalMs) => {
    const impatient = await startFirestoreTestServer({ transactionLimits: { idleMs, totalMs } });
    const db = impatient.client();
    let attempts = 0;
    await db.runTransaction(async (transaction) => {
      await transaction.get(db.doc('a/1'));
      if (++attempts === 1) await sleep(1_200);
      transaction.set(db.doc('a/1'), { attempts });
    });
    expect((await db.doc('a/1').get()).get('attempts')).toBe(2);
    await impatient.close();
  });

  it('comes with clear(), which deletes the data too', async () => {
    const own = await startFirestoreTestServer();
    const db = own.client();
    await db.doc('a/1').set({});
    const database = databaseName(db);
    const [{ transaction = null }] = await own.raw().beginTransaction({ database });
    own.server.clear();
    expect(await rejection(own.raw().commit({ database, transaction, writes: [] }))).toMatchObject({ code: 3 });
    expect((await db.collection('a').get()).empty).toBe(true);
    await db.doc('a/1').create({});
    await own.close();
  });
});

describe('a lost response', () => {
  it('to the read that began the transaction leaves no lock', async () => {
    const db = bench.client();
    const ref = db.doc('a/1');
    await ref.set({ n: 0 });
    const fault = bench.server.faults.inject({
      rpc: 'BatchGetDocuments',
      when: 'after',
      action: { kind: 'error', code: 'UNAVAILABLE' },
    });
    await increment(db, ref);
    expect(fault.count).toBe(1);
    await ref.set({});
  });
});
