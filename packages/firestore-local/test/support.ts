import { Firestore } from '@google-cloud/firestore';
import { FirestoreClient } from '@google-cloud/firestore-api';
import { credentials } from '@grpc/grpc-js';
import type { FirestoreOptions } from '../src';
import { startFirestore, type InternalFirestore } from '../src/internal';

/** A server with clients. Each has its own project, and so its own database, unless it names one. */
export interface FirestoreTestServer {
  readonly server: InternalFirestore;
  client(projectId?: string): Firestore;
  /** The generated client below the SDK, for requests that the SDK rejects. */
  raw(): RawClient;
  close(): Promise<void>;
}

/** The client that is generated from the protocol. */
export type RawClient = FirestoreClient;

/** Such a client for a server at an address. */
export function rawClient(address: string): RawClient {
  const [servicePath = '', port] = address.split(':');
  const sslCreds = credentials.createInsecure();
  return new FirestoreClient({ servicePath, port: Number(port), sslCreds, projectId: 'raw' });
}

/** `projects/*\/databases/*` of a client, which the SDK does not export. */
export const databaseName = (db: Firestore): string => (db as unknown as { formattedName: string }).formattedName;

let projects = 0;

export async function startFirestoreTestServer(options: FirestoreOptions = {}): Promise<FirestoreTestServer> {
  const server = await startFirestore(options);
  const clients: Firestore[] = [];
  const raws: RawClient[] = [];
  return {
    server,
    client: (projectId = `project-${++projects}`) => {
      const [host, port] = [server.host, server.port];
      // Like FIRESTORE_EMULATOR_HOST, but not shared by all tests of the process.
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

/** The error that a promise rejects with. Throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: number; details?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}
