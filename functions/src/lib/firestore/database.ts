import { status } from '@grpc/grpc-js';
import { getApps, initializeApp } from 'firebase-admin/app';
import {
  FieldValue,
  getFirestore,
  type DocumentReference,
  type DocumentSnapshot,
  type Firestore,
  type Query,
  type QuerySnapshot,
  type Transaction,
} from 'firebase-admin/firestore';
import { abortable, type Clock } from '../clock';
import { getDatabaseId } from '../config';
import { CALL_TIMEOUTS_MS } from '../time-limits';
import type { WorkContext } from '../work-context';
import { CHANNEL_OPTIONS } from './connection';
import { getFirestoreEmulator } from '../config';
import { createDefaultCredentials } from './credentials';
import { restoreStatus, singleTry } from './single-try';

export type Writes = Pick<Transaction, 'create' | 'set' | 'update'>;

export const DELETED = FieldValue.delete();

let client: Firestore | undefined;

/** Returns the database for the work of one context. All databases share the client of the SDK, which holds the connections. */
export function getDatabase(context: WorkContext): Database {
  client ??= configureClient(getFirestore(getApps()[0] ?? initializeApp(), getDatabaseId()));
  return new Database(client, context);
}

/**
 * The database for the work of one context. Once the signal of that context has aborted, each call rejects with the
 * signal's reason before it is sent. So a function that `retry` no longer waits for sends no further call. A commit that it
 * sent before can still take effect.
 */
export class Database {
  /** @param firestore a client that {@link configureClient} has configured. @param calls what tests replace */
  constructor(
    readonly firestore: Firestore,
    readonly context: WorkContext,
    private readonly calls: DatabaseCalls = createCalls(firestore, context.clock),
  ) {}

  /** Returns the same database for work that another signal ends. */
  until(signal: AbortSignal): Database {
    return new Database(this.firestore, { ...this.context, signal }, this.calls);
  }

  getAll<T extends DocumentReference[]>(...documents: T) {
    const read = this.#start(() => this.calls.getAll(...documents));
    return read as Promise<{ [Index in keyof T]: DocumentSnapshot }>;
  }

  /** @param query one that finds few documents, because memory holds all of them */
  get(query: Query): Promise<QuerySnapshot> {
    return this.#start(() => this.calls.get(query));
  }

  count(query: Query, timeoutMs: number): Promise<number> {
    return this.#start(() => this.calls.count(query, timeoutMs));
  }

  /** Commits all added writes, or none, in one call. After some errors, the commit may have taken effect. */
  commit(addWrites: (writes: Writes) => void): Promise<void> {
    return this.#start(() => this.calls.commit(addWrites));
  }

  async #start<T>(call: () => Promise<T>): Promise<T> {
    this.context.signal.throwIfAborted();
    this.context.counters.firestoreCalls += 1;
    return call();
  }
}

/** The calls of the SDK, each without retries and with a timeout. */
export type DatabaseCalls = ReturnType<typeof createCalls>;

export const createCalls = (firestore: Firestore, clock: Clock) => ({
  getAll: (...documents: DocumentReference[]): Promise<DocumentSnapshot[]> =>
    waitFor(clock, CALL_TIMEOUTS_MS.read, () => firestore.getAll(...documents)),

  get: (query: Query): Promise<QuerySnapshot> => waitFor(clock, CALL_TIMEOUTS_MS.read, () => query.get()),

  count: async (query: Query, timeoutMs: number): Promise<number> =>
    (await waitFor(clock, timeoutMs, () => query.count().get())).data().count,

  /**
   * A transaction without reads, because the SDK retries `WriteBatch.commit` for up to ten minutes, even after the
   * request has ended.
   */
  commit: (addWrites: (writes: Writes) => void): Promise<void> =>
    firestore.runTransaction(
      (writes) => {
        addWrites(writes);
        return Promise.resolve();
      },
      { maxAttempts: 1 },
    ),
});

/** Waits for the SDK no longer than the timeout, even if the SDK never settles the call. */
async function waitFor<T>(clock: Clock, timeoutMs: number, response: () => Promise<T>): Promise<T> {
  const message = `4 DEADLINE_EXCEEDED: no response within ${timeoutMs} ms`;
  const createReason = () => Object.assign(new Error(message), { code: status.DEADLINE_EXCEEDED });
  const { signal, cancel } = clock.createTimeout(timeoutMs, createReason);
  try {
    return await abortable(signal, response);
  } catch (error) {
    throw restoreStatus(error);
  } finally {
    cancel();
  }
}

/**
 * Configures a new client with the channel options and credentials of the connection for queries (connection.ts).
 * The client sends each call once, with a timeout, because the service decides on retries (retry.ts).
 */
export function configureClient(firestore: Firestore): Firestore {
  const { read, commit, query } = CALL_TIMEOUTS_MS;
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
  const hasEmulator = getFirestoreEmulator() !== undefined;
  const authentication = hasEmulator ? {} : { sslCreds: createDefaultCredentials() };
  firestore.settings({
    clientConfig: { interfaces },
    // Overrides FIRESTORE_PREFER_REST, because only gRPC has the timeouts, the calls without retries and the pings.
    preferRest: false,
    // Without this option the SDK's transport repeats a streaming call after any error before a response.
    gaxServerStreamingRetries: true,
    'grpc.callInvocationTransformer': singleTry,
    ...CHANNEL_OPTIONS,
    ...authentication,
  });
  return firestore;
}
