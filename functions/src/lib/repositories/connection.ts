import { Client, credentials, Metadata, type CallOptions, type ChannelCredentials } from '@grpc/grpc-js';
import { runOutsideDomain } from './domain';

/**
 * A gRPC channel to Firestore for the two calls that carry nearly all there is, queries and batches of entries. Of their
 * time the library's own objects would be the most, and of a cold start its loading (docs/decisions/0009-past-the-library.md).
 */
export interface GrpcConnection {
  client: Client;
  /** `projects/<project>/databases/(default)` */
  databasePath: string;
  /** What the names of all documents begin with, without the slash. */
  documentsPath: string;
  /** What a call says of itself beside its request; `resource` is what of the request Google routes it by. */
  createMetadata: (resource: string) => Metadata;
}

/** Milliseconds that one call to Firestore may take before it fails with DEADLINE_EXCEEDED. */
export interface CallTimeouts {
  /** A read of known documents, with the repetitions that the library makes of it; each of them has half of this. */
  read: number;
  commit: number;
  /** A query, from its start to its last document: a slow caller of a large answer slows its query down. */
  query: number;
}

export const CALL_TIMEOUTS_MS: CallTimeouts = { read: 10_000, commit: 20_000, query: 240_000 };

/** The path of a call. */
export const methodPath = (name: 'RunQuery' | 'Commit'): string => `/google.firestore.v1.Firestore/${name}`;

/** The options of a call that may take so many milliseconds. */
export const callOptions = (ms: number): CallOptions => ({ deadline: Date.now() + ms });

/** Leaves the bytes of a message as they are: written, or read, elsewhere. */
export const identity = (message: Buffer): Buffer => message;

let connection: Promise<GrpcConnection> | undefined;

/** The process's one connection; made anew if it could not be made. */
export function getConnection(): Promise<GrpcConnection> {
  connection ??= runOutsideDomain(openConnection).catch((error: unknown) => {
    connection = undefined;
    throw error;
  });
  return connection;
}

const FIRESTORE_ADDRESS = 'firestore.googleapis.com:443';

/** Connects as the library does: to FIRESTORE_EMULATOR_HOST where that is set, else with the default credentials. */
async function openConnection(): Promise<GrpcConnection> {
  const emulator = process.env['FIRESTORE_EMULATOR_HOST'];
  const databasePath = `projects/${await resolveProjectId()}/databases/(default)`;
  const client =
    emulator === undefined
      ? new Client(FIRESTORE_ADDRESS, await createDefaultCredentials())
      : new Client(emulator, credentials.createInsecure());
  return {
    client,
    databasePath,
    documentsPath: `${databasePath}/documents`,
    createMetadata: (resource) => {
      const headers = new Metadata();
      headers.set('google-cloud-resource-prefix', databasePath);
      headers.set('x-goog-request-params', resource);
      // An emulator would judge a call without this by the rules, which keep every client out.
      if (emulator !== undefined) headers.set('authorization', 'Bearer owner');
      return headers;
    },
  };
}

/** The project that the environment names, as it does in a deployed function; else the one that the library finds. */
async function resolveProjectId(): Promise<string> {
  const named = process.env['GOOGLE_CLOUD_PROJECT'] ?? process.env['GCLOUD_PROJECT'];
  if (named !== undefined) return named;
  const { v1 } = await import('firebase-admin/firestore');
  return new v1.FirestoreClient().getProjectId();
}

/** TLS, and with each call the token of the account that the function runs under; renewed by the library. */
async function createDefaultCredentials(): Promise<ChannelCredentials> {
  const { applicationDefault } = await import('firebase-admin/app');
  const account = applicationDefault();
  const token = credentials.createFromMetadataGenerator((_, done) => {
    account.getAccessToken().then(({ access_token }) => {
      const headers = new Metadata();
      headers.set('authorization', `Bearer ${access_token}`);
      done(null, headers);
    }, done);
  });
  return credentials.combineChannelCredentials(credentials.createSsl(), token);
}
