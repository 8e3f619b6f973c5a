import { Firestore, v1 } from '@google-cloud/firestore';
import { credentials } from '@grpc/grpc-js';
import { startFirestore, type EmbeddedFirestore, type FirestoreOptions } from '..';

/** A server with clients for it; each client has a project, and so a database, of its own unless one is named. */
export interface FirestoreTestServer {
  readonly server: EmbeddedFirestore;
  client(projectId?: string): Firestore;
  /** The generated client below the SDK, for what the SDK does not let through. */
  raw(): RawClient;
  close(): Promise<void>;
}

/** The client that gapic generates from the protocol. */
export type RawClient = InstanceType<typeof v1.FirestoreClient>;

/** Such a client for a server at an address. */
export function rawClient(address: string): RawClient {
  const [servicePath = '', port] = address.split(':');
  const sslCreds = credentials.createInsecure();
  return new v1.FirestoreClient({ servicePath, port: Number(port), sslCreds, projectId: 'raw' });
}

/** `projects/*\/databases/*` of a client; the SDK keeps it to itself. */
export const databaseName = (db: Firestore): string => (db as unknown as { formattedName: string }).formattedName;

// The generated client would look for Google's metadata server to learn who it is.
process.env['METADATA_SERVER_DETECTION'] = 'none';

let projects = 0;

export async function startFirestoreTestServer(options: FirestoreOptions = {}): Promise<FirestoreTestServer> {
  const server = await startFirestore(options);
  const clients: Firestore[] = [];
  const raws: RawClient[] = [];
  return {
    server,
    client: (projectId = `project-${++projects}`) => {
      const [host, port] = [server.host, server.port];
      // What the SDK makes of FIRESTORE_EMULATOR_HOST, without the one variable that all tests of a process would share.
      const client = new Firestore({ projectId, host: `${host}:${port}`, ssl: false, customHeaders: {} });
      clients.push(client);
      return client;
    },
    raw: () => {
      const raw = rawClient(server.address);
      raws.push(raw);
      return raw;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.terminate()));
      await Promise.all(raws.map((raw) => raw.close()));
      await server.close();
    },
  };
}

/** The error that a promise rejects with; fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: number; details?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A promise to be settled from outside. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
