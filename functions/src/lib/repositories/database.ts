import { getApps, initializeApp } from 'firebase-admin/app';
import {
  getFirestore,
  type DocumentReference,
  type DocumentSnapshot,
  type Firestore,
  type Transaction,
} from 'firebase-admin/firestore';
import { setNumbers, type Numbers } from './commit';
import { DEADLINES, type Deadlines } from './connection';
import { outsideDomain } from './domain';
import type { Usage } from './usage';

/** The database as a request sees it that writes. */
export interface Database extends Usage {
  /** The process's one client. */
  readonly firestore: Firestore;
  /** Documents as they are now, in the order in which they are asked for. One call. */
  read(...documents: DocumentReference[]): Promise<DocumentSnapshot[]>;
  /** Applies what `fill` puts in: all of it, or nothing if one of its preconditions does not hold. One call, tried once. */
  commit(fill: (writes: Writes) => void): Promise<void>;
  /** Sets documents of one number each: all of them, or none. One call, tried once. */
  setNumbers(numbers: Numbers): Promise<void>;
}

/** What one commit is to do. */
export type Writes = Pick<Transaction, 'create' | 'set' | 'update'>;

let shared: Firestore | undefined;

/** Opens the database for one request. The client is made at the first, and kept: it holds the connections. */
export function openDatabase(usage: Usage): Database {
  shared ??= connect(getFirestore(getApps()[0] ?? initializeApp()), DEADLINES);
  return databaseOf(shared, usage);
}

/** The database that a client reaches; what is asked of it counts as usage of the request. */
export function databaseOf(firestore: Firestore, usage: Usage, deadlines: Deadlines = DEADLINES): Database {
  const database: Omit<Database, keyof Usage> = {
    firestore,
    read(...documents) {
      usage.calls += 1;
      return within(
        deadlines.read,
        outsideDomain(() => firestore.getAll(...documents)),
      );
    },
    commit(fill) {
      usage.calls += 1;
      // A transaction that reads nothing is a single commit. `WriteBatch.commit` is one too, but the library would repeat
      // it for up to ten minutes, and go on doing so after its caller has given up.
      const filled = (writes: Writes) => {
        fill(writes);
        return Promise.resolve();
      };
      return outsideDomain(() => firestore.runTransaction(filled, { maxAttempts: 1 }));
    },
    setNumbers(numbers) {
      usage.calls += 1;
      return setNumbers(numbers, deadlines.commit);
    },
  };
  return Object.assign(usage, database);
}

/**
 * Has each call of a new client end within its deadline, tried once: what may be tried again, how often and for how
 * long, is decided by who called (see retry.ts).
 */
export function connect(firestore: Firestore, { read, commit, query }: Deadlines): Firestore {
  const once = (timeout_millis: number) => ({ timeout_millis, retry_codes_name: 'none', retry_params_name: 'default' });
  const methods = {
    BatchGetDocuments: once(read / 2),
    Commit: once(commit),
    RunQuery: once(query),
    RunAggregationQuery: once(query),
  };
  const interfaces = { 'google.firestore.v1.Firestore': { retry_codes: { none: [] }, methods } };
  firestore.settings({ clientConfig: { interfaces } });
  return firestore;
}

/**
 * What is awaited, unless it takes longer. The library tries a silent read up to fifteen times, each for its whole deadline;
 * those that are left then go on by themselves, and being reads, do no harm.
 */
async function within<T>(ms: number, awaited: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = Object.assign(new Error(`4 DEADLINE_EXCEEDED: no answer within ${ms} ms`), { code: 4 });
  const timer = setTimeout(() => reject(error), ms);
  try {
    return await Promise.race([awaited, promise]);
  } finally {
    clearTimeout(timer);
  }
}
