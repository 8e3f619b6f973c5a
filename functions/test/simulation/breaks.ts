import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore';
import { collections, subcollections } from '../../src/lib/firestore/collections';
import { DELETED, type CommitWrites, type Database } from '../../src/lib/firestore/database';
import { isTransient } from '../../src/lib/firestore/retry';
import { requireKeyRecord } from '../../src/lib/schemas/key-record';
import { expireLease } from '../../src/price-lists/key-state-machine';
import { isNextPage } from '../support/sdk-internals';
import { virtualTime, type BrokenParts } from './world';

/**
 * Breaks the service on purpose by replacing its database, clock, signal or tokens. The suites in
 * ../modules/price-lists prove the conditions of `transition()` itself.
 */

export interface Break extends BrokenParts {
  /** The first seed, by default 1. A later one saves time if the schedules before it show no violation. */
  seed?: number;
  /** Matches the violation that the simulation reports. */
  caught: RegExp;
}

interface Write {
  kind: keyof CommitWrites;
  reference: DocumentReference;
  data: object;
  /** A precondition, or whether the fields are merged. */
  options: object | undefined;
}

/** Replaces the writes of every commit except batches of entries. Null removes a write. */
const withWrites =
  (replace: (write: Write) => Write | null) =>
  (db: Database): Database => ({
    ...db,
    commit: (addWrites) =>
      db.commit((writes) => {
        const add = (kind: Write['kind']) => (reference: DocumentReference, data: object, options?: object) => {
          const write = replace({ kind, reference, data, options });
          if (write === null) return;
          const args = write.options === undefined ? [write.data] : [write.data, write.options];
          Reflect.apply(writes[write.kind], writes, [write.reference, ...args]);
        };
        const broken = { create: add('create'), set: add('set'), update: add('update') };
        addWrites(broken as unknown as CommitWrites);
      }),
  });

const isIn = ({ reference }: Write, collection: string): boolean => reference.parent.id === collection;

const withBatches =
  (write: (db: Database, ...batch: Parameters<Database['commitPriceEntries']>) => Promise<void>) =>
  (db: Database): Database => ({ ...db, commitPriceEntries: (batch) => write(db, batch) });

/** Returns the snapshot of a key record as processes other than the owner see it: an expired lease has ended the attempt. */
function expireSnapshot(snapshot: DocumentSnapshot): DocumentSnapshot {
  if (!snapshot.exists || snapshot.ref.parent.id !== collections.priceListIdempotency) return snapshot;
  const data = expireLease(requireKeyRecord(snapshot.data() ?? {}), snapshot.readTime.toMillis());
  return Object.create(snapshot, { data: { value: () => data } }) as DocumentSnapshot;
}

async function* nothing(): AsyncGenerator<never> {
  yield* await Promise.resolve([]);
}

export const BREAKS: Record<string, Break> = {
  'a key that is never due for its report': {
    db: withWrites((write) =>
      'failure_cause' in write.data && write.data.failure_cause === 'error'
        ? { ...write, data: { ...write.data, sweep_due_at: DELETED } }
        : write,
    ),
    caught: /a key that needs an operator is reported/,
  },
  'a sweep that finds nothing for minutes': {
    db: (db) => ({
      ...db,
      stream: (query) =>
        db.stream(virtualTime.now % 900_000 < 600_000 ? query.limit(1).where('status', '==', 'none') : query),
    }),
    caught: /is ready a minute after it is due|passes every record that it cannot read/,
  },
  'a sweep that reads only one page': {
    seed: 5,
    db: (db) => ({ ...db, stream: (query) => (isNextPage(query) ? nothing() : db.stream(query)) }),
    caught: /is ready a minute after it is due|is reported|passes every record that it cannot read/,
  },
  'a resume that finds no stored entry': {
    seed: 11,
    db: (db) => ({ ...db, streamQuery: nothing }),
    caught: /writes an entry that is stored/,
  },
  'a claim without its condition': {
    db: withWrites((write) => (write.kind === 'create' ? { ...write, kind: 'set' } : write)),
    caught: /one request record for each accepted attempt/,
  },
  'events without their condition': {
    seed: 4,
    db: withWrites((write) =>
      isIn(write, collections.priceListIdempotency) && write.kind === 'update'
        ? { ...write, kind: 'set', options: { merge: true } }
        : write,
    ),
    caught: /a ready list is never written again/,
  },
  'lists that become ready one by one': {
    db: withWrites((write) =>
      isIn(write, collections.expectedForwardCosts) && 'status' in write.data && write.data.status === 'ready'
        ? null
        : write,
    ),
    caught: /is (processing|failed), but its attempt is completed/,
  },
  'a payload that is not stored': {
    db: withWrites((write) => (isIn(write, subcollections.payload) ? null : write)),
    caught: /payload: .* cannot be used/,
  },
  'entries that are created': {
    db: withBatches((db, { collection, field, ids, prices }) =>
      db.commit((writes) => {
        const entries = db.firestore.collection(collection);
        for (const [i, id] of ids.entries()) writes.create(entries.doc(id), { [field]: prices[i] });
      }),
    ),
    caught: /a precondition fails only where another event was applied/,
  },
  'entries that count as written after an error': {
    seed: 12,
    db: withBatches(async (db, batch) => {
      await db.commitPriceEntries(batch).catch((error: unknown) => {
        if (!isTransient(error)) throw error;
      });
    }),
    caught: /entry_count/,
  },
  'entries that are not waited for': {
    seed: 3,
    db: withBatches((db, batch) => {
      db.commitPriceEntries(batch).catch(() => undefined);
      return Promise.resolve();
    }),
    caught: /entry_count|goes on after its response/,
  },
  'a repeated try that does not read the key again': {
    db: (db) => {
      const known = new Map<string, Promise<DocumentSnapshot[]>>();
      const getAll = (...documents: DocumentReference[]) => {
        const paths = documents.map(({ path }) => path).join();
        const found = known.get(paths) ?? db.getAll(...documents);
        known.set(paths, found);
        return found;
      };
      return { ...db, getAll: getAll as Database['getAll'] };
    },
    // Its commits always fail, the retries end with an error that they should overcome, or no sweep resumes the key.
    caught:
      /a precondition fails only where another event was applied|retries overcome what they can|a minute after it is due/,
  },
  'a lease whose expiry is checked before its owner': {
    db: (db, context) => {
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
          own.has(snapshot.get('owner')) ? expireSnapshot(snapshot) : snapshot,
        );
      return { ...db, getAll: getAll as Database['getAll'] };
    },
    caught: /a request whose attempt nobody else touched is not refused/,
  },
  'a clock that stands still': {
    seed: 3,
    context: (context) => {
      const startedAt = context.clock.elapsedMs();
      return { ...context, clock: { ...context.clock, elapsedMs: () => startedAt } };
    },
    caught: /writes entries after its lease expired/,
  },
  'a try that continues after it was given up': {
    seed: 19,
    context: (context) => ({
      ...context,
      signal: Object.assign(context.signal, { throwIfAborted: () => undefined }),
    }),
    caught: /goes on after its response/,
  },
  'one owner token for all attempts': {
    context: (context) => ({ ...context, newToken: () => 'anybody' }),
    caught: /only a claimed attempt fails|gets the first response/,
  },
};
