import { status } from '@grpc/grpc-js';
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
import { abortable, createTimeout } from '../clock';

/** The database of one request: its calls are counted, and each is one try. */
export type Database = ReturnType<typeof createDatabase>;

export type CommitWrites = Pick<Transaction, 'create' | 'set' | 'update'>;

let sharedClient: Firestore | undefined;

/** Returns the database of a request, over the client of the process, which holds the connections. */
export function getDatabase(context: CallContext): Database {
  sharedClient ??= configureClient(getFirestore(getApps()[0] ?? initializeApp()), CALL_TIMEOUTS_MS);
  return createDatabase(sharedClient, context);
}

/** Adds the methods of a database to the context of a request, which counts their calls. */
export function createDatabase(firestore: Firestore, context: CallContext, timeouts: CallTimeouts = CALL_TIMEOUTS_MS) {
  return Object.assign(context, {
    /** The client of the process. */
    firestore,

    /**
     * Reads documents, in the order of the arguments. The SDK tries a read without a response up to 15 times, each for the
     * whole timeout; what is left of them after one timeout ends by itself and, as reads, changes nothing.
     */
    async getAll<T extends DocumentReference[]>(...documents: T) {
      context.callCount += 1;
      const createError = () =>
        Object.assign(new Error(`4 DEADLINE_EXCEEDED: no response within ${timeouts.read} ms`), {
          code: status.DEADLINE_EXCEEDED,
        });
      const { signal, cancel } = createTimeout(timeouts.read, createError);
      const read = () => runOutsideDomain(() => firestore.getAll(...documents));
      return (await abortable(signal, read).finally(cancel)) as { [Index in keyof T]: DocumentSnapshot };
    },

    /** Commits the added writes: all of them, or none if a precondition fails. */
    commit(addWrites: (writes: CommitWrites) => void): Promise<void> {
      context.callCount += 1;
      // A transaction without reads is a single commit. The SDK would retry `WriteBatch.commit` for up to ten minutes, even
      // after the request has ended.
      const update = (writes: CommitWrites) => {
        addWrites(writes);
        return Promise.resolve();
      };
      return runOutsideDomain(() => firestore.runTransaction(update, { maxAttempts: 1 }));
    },

    /** Replaces documents of one number each: all of them, or none. */
    commitNumberDocuments(documents: NumberDocuments): Promise<void> {
      context.callCount += 1;
      return commitNumberDocuments(documents, timeouts.commit);
    },
  });
}

/**
 * Configures a new client: the same channel options and credentials as the connection for queries, and each call is
 * tried once within its timeout, because the workflow decides on retries (retry.ts).
 */
export function configureClient(firestore: Firestore, { read, commit, query }: CallTimeouts): Firestore {
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
  firestore.settings({ clientConfig: { interfaces }, ...CHANNEL_OPTIONS, ...authentication });
  return firestore;
}
