import {
  CollectionReference,
  type DocumentReference,
  type DocumentSnapshot,
  type Query,
  type QuerySnapshot,
} from 'firebase-admin/firestore';
import { collections, subcollections } from '../../functions/src/lib/firestore/collections';
import { DELETED, type DatabaseCalls, type Writes } from '../../functions/src/lib/firestore/database';
import { isTransient } from '../../functions/src/lib/firestore/retry';
import { settleLease } from '../../functions/src/price-lists/key';
import { requireKeyRecord } from '../harness/key-records';
import { getPaths, virtualTime, type BrokenParts } from './world';

/**
 * Breaks the service on purpose by replacing its database, clock, signal or tokens. The suites in
 * ../modules/price-lists prove the conditions of `transition()` itself.
 */

interface Break extends BrokenParts {
  /** The first seed, by default 1. A later one saves time if the schedules before it show no violation. */
  seed?: number;
  caught: RegExp;
}

interface Write {
  kind: keyof Writes;
  reference: DocumentReference;
  data: Readonly<Record<string, unknown>>;
  /** A precondition, or whether the fields are merged. */
  options: object | undefined;
}

/** Replaces the writes of every commit. Null removes a write. */
const withWrites =
  (replace: (write: Write) => Write | null) =>
  (db: DatabaseCalls): DatabaseCalls => ({
    ...db,
    commit: (addWrites) =>
      db.commit((writes) => {
        const add = (kind: Write['kind']) => (reference: DocumentReference, data: Write['data'], options?: object) => {
          const write = replace({ kind, reference, data, options });
          if (write === null) return;
          const args = write.options === undefined ? [write.data] : [write.data, write.options];
          Reflect.apply(writes[write.kind], writes, [write.reference, ...args]);
        };
        addWrites({ create: add('create'), set: add('set'), update: add('update') } as unknown as Writes);
      }),
  });

const isIn = ({ reference }: Write, collection: string): boolean => reference.parent.id === collection;

const isKey = (write: Write): boolean => isIn(write, collections.priceListIdempotency);

const without = (matches: (write: Write) => boolean) => withWrites((write) => (matches(write) ? null : write));

/** Writes without a condition, whatever is stored. */
const force = (write: Write): Write =>
  write.kind === 'update' ? { ...write, kind: 'set', options: { merge: true } } : { ...write, kind: 'set' };

const withEntries =
  (commit: (run: () => Promise<void>) => Promise<void>) =>
  (db: DatabaseCalls): DatabaseCalls => ({
    ...db,
    commit: (addWrites) => {
      const run = () => db.commit(addWrites);
      return getPaths(addWrites)[0]?.includes('/products/') ? commit(run) : run();
    },
  });

const withDueKeys =
  (get: (db: DatabaseCalls, query: Query) => Promise<QuerySnapshot>) =>
  (db: DatabaseCalls): DatabaseCalls => ({
    ...db,
    get: (query) => (query instanceof CollectionReference ? db.get(query) : get(db, query)),
  });

const findNothing = (db: DatabaseCalls, query: Query) => db.get(query.limit(1).where('status', '==', 'none'));

/** Returns the snapshot of a key record as processes other than the owner see it: an expired lease has ended the attempt. */
function settleSnapshot(snapshot: DocumentSnapshot): DocumentSnapshot {
  if (!snapshot.exists || snapshot.ref.parent.id !== collections.priceListIdempotency) return snapshot;
  const data = settleLease(requireKeyRecord(snapshot.data() ?? {}), snapshot.readTime.toMillis());
  return Object.create(snapshot, { data: { value: () => data } }) as DocumentSnapshot;
}

export const BREAKS: Record<string, Break> = {
  'a key that is never due for its report': {
    seed: 28,
    calls: withWrites((write) =>
      write.data['failure_cause'] === 'error' ? { ...write, data: { ...write.data, sweep_due_at: DELETED } } : write,
    ),
    caught: /a key that needs an operator is reported/,
  },
  'a sweep that finds nothing for minutes': {
    calls: withDueKeys((db, query) => (virtualTime.now % 900_000 < 600_000 ? findNothing(db, query) : db.get(query))),
    caught: /leaves no key due/,
  },
  'a sweep that reads only one key': {
    seed: 25,
    calls: (db) => {
      let isFirst = true;
      const get = (_: DatabaseCalls, query: Query) => {
        const isRead = isFirst;
        isFirst = false;
        return isRead ? db.get(query.limit(1)) : findNothing(db, query);
      };
      return withDueKeys(get)(db);
    },
    caught: /leaves no key due/,
  },
  'tries that are forgotten': {
    calls: withWrites((write) =>
      'failed_tries' in write.data ? { ...write, data: { ...write.data, failed_tries: 0 } } : write,
    ),
    caught: /each failed try counts/,
  },
  'lists that a resume does not change to processing': {
    seed: 2,
    calls: without(
      ({ data }) => data['status'] === 'processing' && 'new_date' in data && data['created_at'] !== data['updated_at'],
    ),
    caught: /is failed, but its attempt is processing/,
  },
  'a release that leaves no trace in the request record': {
    calls: without((write) => isIn(write, collections.priceListRequests) && 'released' in write.data),
    caught: /differs from its attempt: released|belongs to no present or released attempt/,
  },
  'a late copy of an old claim that takes its key after a release': {
    seed: 18,
    calls: withWrites((write) =>
      isIn(write, collections.priceListRequests) ||
      isIn(write, subcollections.payload) ||
      (isKey(write) && write.kind === 'update' && write.data['claimed_at'] === write.data['updated_at'])
        ? force(write)
        : write,
    ),
    caught: /completed is final, not processing|is failed, but its attempt is processing/,
  },
  'a claim without its condition': {
    seed: 5,
    calls: withWrites((write) => (write.kind === 'create' ? force(write) : write)),
    caught: /belongs to no present or released attempt|completed is final/,
  },
  'events without their condition': {
    seed: 12,
    calls: withWrites((write) => (isKey(write) && write.kind === 'update' ? force(write) : write)),
    caught: /a ready list is never written again|completed is final|is failed, but its attempt is processing/,
  },
  'a completion that writes only one list': {
    calls: without((write) => isIn(write, collections.expectedForwardCosts) && write.data['status'] === 'ready'),
    caught: /is (processing|failed), but its attempt is completed/,
  },
  'a payload that is not stored': {
    calls: without((write) => isIn(write, subcollections.payload)),
    caught: /price_list_payload cannot be used: chunks of it are missing/,
  },
  'entries that a commit creates instead of setting': {
    seed: 2,
    calls: withWrites((write) => (isIn(write, subcollections.products) ? { ...write, kind: 'create' } : write)),
    caught: /a precondition fails only where another event was applied/,
  },
  'entries that count as written after an error': {
    seed: 6,
    calls: withEntries((run) =>
      run().catch((error: unknown) => {
        if (!isTransient(error)) throw error;
      }),
    ),
    caught: /products without an entry/,
  },
  'entries that the attempt does not wait for': {
    seed: 3,
    calls: withEntries((run) => {
      run().catch(() => undefined);
      return Promise.resolve();
    }),
    caught: /products without an entry|goes on after its response/,
  },
  'a repeated try that does not read the key again': {
    calls: (db) => {
      const known = new Map<string, Promise<DocumentSnapshot[]>>();
      const getAll = (...documents: DocumentReference[]) => {
        const paths = documents.map(({ path }) => path).join();
        const found = known.get(paths) ?? db.getAll(...documents);
        known.set(paths, found);
        return found;
      };
      return { ...db, getAll: getAll };
    },
    // Its commits always fail, the retries end with an error that they should overcome, or no sweep resumes the key.
    caught:
      /a precondition fails only where another event was applied|retries overcome what they can|leaves no key due/,
  },
  'a lease whose expiry is checked before its owner': {
    seed: 2,
    calls: (db, context) => {
      const own = new Set<unknown>();
      const { newToken } = context;
      const createToken = () => {
        const token = newToken();
        own.add(token);
        return token;
      };
      Object.assign(context, { newToken: createToken });
      const getAll = async (...documents: DocumentReference[]) =>
        (await db.getAll(...documents)).map((snapshot) =>
          own.has(snapshot.get('owner')) ? settleSnapshot(snapshot) : snapshot,
        );
      return { ...db, getAll: getAll };
    },
    caught: /a request whose attempt nobody else touched is not refused/,
  },
  'a clock that stands still': {
    seed: 25,
    context: (context) => {
      const startedAt = context.clock.elapsedMs();
      return { ...context, clock: { ...context.clock, elapsedMs: () => startedAt } };
    },
    caught: /writes entries after its lease expired/,
  },
  'one owner token for all attempts': {
    context: (context) => ({ ...context, newToken: () => 'anybody' }),
    caught: /only a claimed attempt fails|gets the first response|without a claim of its own writes nothing/,
  },
};
