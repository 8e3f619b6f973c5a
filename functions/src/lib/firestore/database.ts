import { addAbortSignal, type Readable } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { getApps, initializeApp } from 'firebase-admin/app';
import {
  FieldValue,
  getFirestore,
  type DocumentReference,
  type DocumentSnapshot,
  type Firestore,
  type Query,
  type QueryDocumentSnapshot,
  type Transaction,
} from 'firebase-admin/firestore';
import { CHANNEL_OPTIONS } from './connection';
import { createDefaultCredentials } from './credentials';
import type { QuerySpec } from './messages';
import { runOutsideDomain } from './node-domain';
import { commitPriceEntries, type PriceEntryBatch } from './price-entries';
import { streamDocuments, type Decode } from './query';
import { abortable } from '../clock';
import { getDatabaseId } from '../config';
import type { RequestContext } from '../request-context';
import { CALL_TIMEOUTS_MS, type CallTimeouts } from '../time-limits';

/** The database of one request: each call is one try, and is counted in the request's context. */
export type Database = ReturnType<typeof createDatabase>;

export type CommitWrites = Pick<Transaction, 'create' | 'set' | 'update'>;

/** As a value of an update: takes the field away. */
export const DELETED = FieldValue.delete();

/** The clients of the process, which hold the connections: one for each set of timeouts. */
const clients = new Map<CallTimeouts, Firestore>();

/** Returns the database of a request, or of a sweep with its own timeouts, over a client of the process. */
export function getDatabase(context: RequestContext, timeouts = CALL_TIMEOUTS_MS): Database {
  const client = clients.get(timeouts) ?? createClient(timeouts);
  clients.set(timeouts, client);
  return createDatabase(client, context, timeouts);
}

function createClient(timeouts: CallTimeouts): Firestore {
  const app = clients.size === 0 ? getApps()[0] : undefined;
  return configureClient(
    getFirestore(app ?? initializeApp(undefined, `client-${clients.size}`), getDatabaseId()),
    timeouts,
  );
}

const createDeadlineError = (ms: number): Error =>
  Object.assign(new Error(`4 DEADLINE_EXCEEDED: no response within ${ms} ms`), { code: status.DEADLINE_EXCEEDED });

/** @param firestore the client of the process */
export function createDatabase(
  firestore: Firestore,
  context: RequestContext,
  timeouts: CallTimeouts = CALL_TIMEOUTS_MS,
) {
  const { clock, counters, signal: requestSignal } = context;
  const startCall = <T>(call: () => T): T => {
    counters.firestoreCalls += 1;
    return runOutsideDomain(call);
  };
  return {
    firestore,

    /**
     * Reads documents, in the order of the arguments. The SDK tries a read without a response up to
     * 15 times, each for the whole timeout; what is left of them after one timeout ends by itself
     * and, as reads, changes nothing.
     */
    async getAll<T extends DocumentReference[]>(...documents: T) {
      const { signal, cancel } = clock.createTimeout(timeouts.read, () => createDeadlineError(timeouts.read));
      const read = () => startCall(() => firestore.getAll(...documents));
      return (await abortable(signal, read).finally(cancel)) as { [Index in keyof T]: DocumentSnapshot };
    },

    /** Streams the documents of a query until the signal of the request aborts. */
    stream(query: Query): AsyncIterable<QueryDocumentSnapshot> {
      const documents = startCall(() => query.stream() as unknown as Readable);
      return addAbortSignal(requestSignal, documents) as AsyncIterable<QueryDocumentSnapshot>;
    },

    /**
     * Streams the documents of a query in batches, past the SDK. Unlike the other methods it makes as
     * many calls as it needs: after an error it continues after the last document (query.ts).
     */
    streamQuery: <T>(query: QuerySpec, decode: Decode<T>) => streamDocuments(context, query, decode),

    /** Counts the documents of a query. */
    async count(query: Query): Promise<number> {
      return (await startCall(() => query.count().get())).data().count;
    },

    /** Commits the added writes: all of them, or none if a precondition fails. */
    commit: (addWrites: (writes: CommitWrites) => void): Promise<void> => startCall(() => commit(firestore, addWrites)),

    /** Replaces entries of one list: all of them, or none. */
    commitPriceEntries: (batch: PriceEntryBatch): Promise<void> =>
      startCall(() => commitPriceEntries(batch, timeouts.commit)),
  };
}

/**
 * Commits in one call: a transaction without reads is that. The SDK would retry `WriteBatch.commit` for
 * up to ten minutes, even after the request has ended.
 */
function commit(firestore: Firestore, addWrites: (writes: CommitWrites) => void): Promise<void> {
  const update = (writes: CommitWrites) => {
    addWrites(writes);
    return Promise.resolve();
  };
  return firestore.runTransaction(update, { maxAttempts: 1 });
}

/**
 * Configures a new client: the same channel options and credentials as the connection for queries,
 * and each call is tried once within its timeout, because the workflow decides on retries
 * (retry.ts).
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
