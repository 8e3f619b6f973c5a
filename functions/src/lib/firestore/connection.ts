import { Client, credentials, Metadata, type ChannelOptions } from '@grpc/grpc-js';
import { getDatabaseId, getFirestoreEmulator } from '../config';
import { CALL_TIMEOUTS_MS, KEEPALIVE_MS, MAX_PAUSE_MS } from '../time-limits';

/**
 * The gRPC connection for the queries of query.ts, which bypass the Firestore SDK (docs/decisions/0009-past-the-library.md).
 * With the SDK, a read of 100,000 orders took about three times the memory, and a cold start 1.7 times as long (November 2026).
 */

/**
 * Options of this channel and of the SDK's. The pings find a connection that died silently. After gRPC has
 * failed to connect, it waits at most about 5 s before it tries again; its default is about 120 s.
 */
export const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': KEEPALIVE_MS.interval,
  'grpc.keepalive_timeout_ms': KEEPALIVE_MS.timeout,
  'grpc.max_reconnect_backoff_ms': MAX_PAUSE_MS,
} satisfies ChannelOptions;

const identity = (message: Buffer): Buffer => message;

let connection: ReturnType<typeof openConnection> | undefined;

/** Returns the connection of the process. The first call opens it; if that fails, the next call tries again. */
export function getConnection(): ReturnType<typeof openConnection> {
  connection ??= openConnection().catch((error: unknown) => {
    connection = undefined;
    throw error;
  });
  return connection;
}

const FIRESTORE_ADDRESS = 'firestore.googleapis.com:443';

/** Like the Firestore SDK, connects to FIRESTORE_EMULATOR_HOST if it is set, otherwise to Google. */
async function openConnection() {
  const emulator = getFirestoreEmulator();
  /** `projects/<project>/databases/<database>` */
  const databasePath = `projects/${await resolveProjectId()}/databases/${getDatabaseId()}`;
  const client =
    emulator === undefined
      ? // Loaded only when needed, because its libraries take a while to load.
        new Client(FIRESTORE_ADDRESS, (await import('./credentials')).createDefaultCredentials(), CHANNEL_OPTIONS)
      : new Client(emulator, credentials.createInsecure(), CHANNEL_OPTIONS);
  const documentsPath = `${databasePath}/documents`;
  /** @param request an encoded RunQueryRequest */
  const runQuery = (request: Buffer) => {
    const metadata = new Metadata();
    metadata.set('google-cloud-resource-prefix', databasePath);
    metadata.set('x-goog-request-params', `parent=${encodeURIComponent(documentsPath)}`);
    // Without this header Google's emulator applies the security rules, which deny every client.
    if (emulator !== undefined) metadata.set('authorization', 'Bearer owner');
    // eslint-disable-next-line no-restricted-globals -- gRPC takes a deadline by the clock of this machine.
    const options = { deadline: Date.now() + CALL_TIMEOUTS_MS.query };
    const path = '/google.firestore.v1.Firestore/RunQuery';
    return client.makeServerStreamRequest(path, identity, identity, request, metadata, options);
  };
  return { documentsPath, runQuery };
}

/** Returns the project that the environment names, as in a deployed function, or that the Firestore SDK finds. */
async function resolveProjectId(): Promise<string> {
  const named = process.env['GOOGLE_CLOUD_PROJECT'] ?? process.env['GCLOUD_PROJECT'];
  if (named !== undefined) return named;
  const { v1 } = await import('firebase-admin/firestore');
  return new v1.FirestoreClient().getProjectId();
}
