import type { ChannelOptions } from '@grpc/grpc-js';
import { getApps, initializeApp } from 'firebase-admin/app';
import {
  getFirestore,
  type DocumentReference,
  type DocumentSnapshot,
  type Firestore,
  type Transaction,
} from 'firebase-admin/firestore';
import { commitNumberDocuments, type NumberDocuments } from './bulk-commit';
import { CALL_TIMEOUTS_MS, CHANNEL_OPTIONS, type CallTimeouts } from './connection';
import { createDefaultCredentials } from './credentials';
import { runOutsideDomain } from './node-domain';
import type { CallContext } from '../call-context';

/** The database as a request sees it that writes. */
export interface Database extends CallContext {
  /** The process's one client. */
  readonly firestore: Firestore;
  /** Documents as they are now, in the order in which they are asked for. One call. */
  getAll(...documents: DocumentReference[]): Promise<DocumentSnapshot[]>;
  /** Applies what `fill` puts in: all of it, or nothing if one of its preconditions does not hold. One call, tried once. */
  commit(addWrites: (writes: CommitWrites) => void): Promise<void>;
  /** Sets documents of one number each: all of them, or none. One call, tried once. */
  commitNumberDocuments(numbers: NumberDocuments): Promise<void>;
}

/** What one commit is to do. */
export type CommitWrites = Pick<Transaction, 'create' | 'set' | 'update'>;

let sharedClient: Firestore | undefined;

/** Opens the database for one request. The client is made at the first, and kept: it holds the connections. */
export function getDatabase(usage: CallContext): Database {
  sharedClient ??= configureClient(getFirestore(getApps()[0] ?? initializeApp()), CALL_TIMEOUTS_MS);
  return createDatabase(sharedClient, usage);
}

/** The database that a client reaches; what is asked of it counts as usage of the request. */
export function createDatabase(
  firestore: Firestore,
  usage: CallContext,
  deadlines: CallTimeouts = CALL_TIMEOUTS_MS,
): Database {
  const database: Omit<Database, keyof CallContext> = {
    firestore,
    getAll(...documents) {
      usage.callCount += 1;
      return withTimeout(
        deadlines.read,
        runOutsideDomain(() => firestore.getAll(...documents)),
      );
    },
    commit(addWrites) {
      usage.callCount += 1;
      // A transaction that reads nothing is a single commit. `WriteBatch.commit` is one too, but the library would repeat
      // it for up to ten minutes, and go on doing so after its caller has given up.
      const filled = (writes: CommitWrites) => {
        addWrites(writes);
        return Promise.resolve();
      };
      return runOutsideDomain(() => firestore.runTransaction(filled, { maxAttempts: 1 }));
    },
    commitNumberDocuments(numbers) {
      usage.callCount += 1;
      return commitNumberDocuments(numbers, deadlines.commit);
    },
  };
  return Object.assign(usage, database);
}

/**
 * Configures a new client: each call ends within its timeout and is tried once, because its caller decides on retries
 * (retry.ts); the channel has the options and credentials of ours.
 */
export function configureClient(
  firestore: Firestore,
  { read, commit, query }: CallTimeouts,
  channelOptions: ChannelOptions = CHANNEL_OPTIONS,
): Firestore {
  const withoutRetries = (timeoutMs: number) => ({
    timeout_millis: timeoutMs,
    retry_codes_name: 'none',
    retry_params_name: 'default',
  });
  const methods = {
    BatchGetDocuments: withoutRetries(read),
    Commit: withoutRetries(commit),
    RunQuery: withoutRetries(query),
    RunAggregationQuery: withoutRetries(query),
  };
  const interfaces = { 'google.firestore.v1.Firestore': { retry_codes: { none: [] }, methods } };
  const hasEmulator = process.env['FIRESTORE_EMULATOR_HOST'] !== undefined;
  const authentication = hasEmulator ? {} : { sslCreds: createDefaultCredentials() };
  firestore.settings({ clientConfig: { interfaces }, ...channelOptions, ...authentication });
  return firestore;
}

/**
 * Ends a read after its timeout. The SDK tries a silent read up to fifteen times, each for the whole timeout; the tries that
 * are left then end by themselves and, as reads, do no harm.
 */
async function withTimeout<T>(timeoutMs: number, call: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = Object.assign(new Error(`4 DEADLINE_EXCEEDED: no response within ${timeoutMs} ms`), { code: 4 });
  const timer = setTimeout(() => reject(error), timeoutMs);
  try {
    return await Promise.race([call, promise]);
  } finally {
    clearTimeout(timer);
  }
}
