import { getApps, initializeApp } from 'firebase-admin/app';
import { getFirestore, type Firestore } from 'firebase-admin/firestore';

/** The database as one request sees it: the process's one client, and a count of the calls that this request made. */
export interface Database {
  readonly firestore: Firestore;
  calls: number;
  /** Ends the reading of a query when the request's time is up. */
  readonly signal: AbortSignal;
}

/** Milliseconds that one call to Firestore may take before it fails with DEADLINE_EXCEEDED. */
export interface Deadlines {
  /** A read of known documents, a commit, the start or the rollback of a transaction. */
  call: number;
  /** A query, from its start to its last document: a slow caller of a large answer slows its query down. */
  query: number;
}

export const DEADLINES: Deadlines = { call: 20_000, query: 240_000 };

let shared: Firestore | undefined;

/** Opens the database for one request. The client is made at the first, and kept: it holds the connections. */
export function openDatabase(signal: AbortSignal): Database {
  shared ??= connect(DEADLINES);
  return { firestore: shared, calls: 0, signal };
}

/**
 * A client whose calls each end within their deadline, tried once: what may be tried again, how often and for how long,
 * is decided by who called (see retry.ts). The library's own retries of a commit go on for ten minutes.
 */
export function connect(deadlines: Deadlines): Firestore {
  const firestore = getFirestore(getApps()[0] ?? initializeApp());
  firestore.settings({ clientConfig: clientConfig(deadlines) });
  return firestore;
}

/** Google's client configuration, as far as it differs from the library's own. */
function clientConfig({ call, query }: Deadlines): object {
  const once = (timeout_millis: number) => ({ timeout_millis, retry_codes_name: 'none', retry_params_name: 'default' });
  return {
    interfaces: {
      'google.firestore.v1.Firestore': {
        retry_codes: { none: [] },
        methods: {
          BatchGetDocuments: once(call),
          BeginTransaction: once(call),
          Commit: once(call),
          Rollback: once(call),
          ListDocuments: once(call),
          RunAggregationQuery: once(query),
          RunQuery: once(query),
        },
      },
    },
  };
}
