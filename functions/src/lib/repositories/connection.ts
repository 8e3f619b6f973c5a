import {
  credentials,
  Metadata,
  type CallOptions,
  type Client,
  type MethodDefinition,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { getApps } from 'firebase-admin/app';
import { v1 } from 'firebase-admin/firestore';
import { outsideDomain } from './domain';

/**
 * The gRPC client that the library makes and hands out (`FirestoreClient.initialize`), with its channel and its
 * credentials: for the two calls that carry nearly all there is, queries and batches of entries, of whose time the
 * library's own objects would be the most (docs/performance.md).
 */
export interface Connection {
  client: Client;
  /** `projects/<project>/databases/(default)` */
  database: string;
  /** What the names of all documents begin with, without the slash. */
  documents: string;
  /** The description of a call. */
  method: <Request, Response>(name: 'RunQuery' | 'Commit') => MethodDefinition<Request, Response>;
  /** What a call says of itself beside its request; `resource` is what of the request Google routes it by. */
  headers: (resource: string) => Metadata;
}

let connection: Promise<Connection> | undefined;

/** The process's one connection; made anew if it could not be made. */
export function connected(): Promise<Connection> {
  connection ??= outsideDomain(connect).catch((error: unknown) => {
    connection = undefined;
    throw error;
  });
  return connection;
}

/** The options of a call that may take so many milliseconds. */
export const within = (ms: number): CallOptions => ({ deadline: Date.now() + ms });

/** Leaves the bytes of a message as they are: written, or read, elsewhere. */
export const asItIs = (message: Buffer): Buffer => message;

/** Connects as the library does: to FIRESTORE_EMULATOR_HOST where that is set, else with the default credentials. */
async function connect(): Promise<Connection> {
  const emulator = process.env['FIRESTORE_EMULATOR_HOST'];
  const library = new v1.FirestoreClient(emulator === undefined ? {} : emulatorAt(emulator));
  const client = (await library.initialize()) as unknown as Client;
  const { service } = client.constructor as ServiceClientConstructor;
  const project = getApps()[0]?.options.projectId ?? (await library.getProjectId());
  const database = `projects/${project}/databases/(default)`;
  return {
    client,
    database,
    documents: `${database}/documents`,
    method: <Request, Response>(name: string) => service[name] as unknown as MethodDefinition<Request, Response>,
    headers: (resource) => {
      const headers = new Metadata();
      headers.set('google-cloud-resource-prefix', database);
      headers.set('x-goog-request-params', resource);
      // An emulator would judge a call without this by the rules, which keep every client out.
      if (emulator !== undefined) headers.set('authorization', 'Bearer owner');
      return headers;
    },
  };
}

function emulatorAt(address: string) {
  const { hostname, port } = new URL(`http://${address}`);
  const sslCreds = credentials.createInsecure();
  // Named, because the library would otherwise look for credentials, up to the network's metadata server, to ask them.
  return { servicePath: hostname, port: Number(port), sslCreds, universeDomain: 'googleapis.com' };
}
