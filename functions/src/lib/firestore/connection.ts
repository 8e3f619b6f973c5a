import { Client, credentials, Metadata, type ChannelOptions } from '@grpc/grpc-js';
import { getDatabaseId } from '../config';
import { runOutsideDomain } from './node-domain';

/**
 * The gRPC connection for queries and batches of entries, which are nearly all calls. The Firestore
 * SDK costs most of their time, and its loading most of a cold start: see
 * docs/decisions/0009-past-the-library.md.
 */

/**
 * Options of both channels, this one and that of the Firestore SDK. A connection that stays silent
 * for 30 s of a call is pinged, and replaced after 10 s without a response. Google's servers allow
 * no shorter interval, and no pings between calls. After an outage a new connection is made within
 * 5 s, where gRPC's own maximum is 120 s.
 */
export const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_reconnect_backoff_ms': 5_000,
} satisfies ChannelOptions;

/** Serializer of messages that are encoded, or decoded, elsewhere. */
const identity = (message: Buffer): Buffer => message;

let connection: ReturnType<typeof openConnection> | undefined;

/** Returns the connection of the process; opens it again if that failed. */
export function getConnection(): ReturnType<typeof openConnection> {
  connection ??= runOutsideDomain(openConnection).catch((error: unknown) => {
    connection = undefined;
    throw error;
  });
  return connection;
}

const FIRESTORE_ADDRESS = 'firestore.googleapis.com:443';

/** Connects like the Firestore SDK: to FIRESTORE_EMULATOR_HOST if that is set, else with the default credentials. */
async function openConnection() {
  const emulator = process.env['FIRESTORE_EMULATOR_HOST'];
  /** `projects/<project>/databases/<database>` */
  const databasePath = `projects/${await resolveProjectId()}/databases/${getDatabaseId()}`;
  const client =
    emulator === undefined
      ? // The libraries behind it take a while to load.
        new Client(FIRESTORE_ADDRESS, (await import('./credentials')).createDefaultCredentials(), CHANNEL_OPTIONS)
      : new Client(emulator, credentials.createInsecure(), CHANNEL_OPTIONS);
  const documentsPath = `${databasePath}/documents`;
  /**
   * Returns the arguments with which `client` makes a call.
   *
   * @param route the field of the request by which Google routes the call, and its value
   */
  const prepareCall = (
    method: 'RunQuery' | 'Commit',
    [field, value]: readonly [field: string, value: string],
    request: Buffer,
    timeoutMs: number,
  ) => {
    const metadata = new Metadata();
    metadata.set('google-cloud-resource-prefix', databasePath);
    metadata.set('x-goog-request-params', `${field}=${encodeURIComponent(value)}`);
    // Without it an emulator applies the security rules, which deny every client.
    if (emulator !== undefined) metadata.set('authorization', 'Bearer owner');
    const options = { deadline: Date.now() + timeoutMs };
    return [`/google.firestore.v1.Firestore/${method}`, identity, identity, request, metadata, options] as const;
  };
  return { client, databasePath, documentsPath, prepareCall };
}

/** Returns the project of the environment, which a deployed function has, or else the one that the Firestore SDK finds. */
async function resolveProjectId(): Promise<string> {
  const named = process.env['GOOGLE_CLOUD_PROJECT'] ?? process.env['GCLOUD_PROJECT'];
  if (named !== undefined) return named;
  const { v1 } = await import('firebase-admin/firestore');
  return new v1.FirestoreClient().getProjectId();
}
