import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore, type EmbeddedFirestore, type FirestoreOptions } from '../src';

/** An embedded Firestore whose clients end when it closes. */
export interface FirestoreTestServer {
  readonly server: EmbeddedFirestore;
  /** Creates a client of a project. The default is a new project, which has its own database. */
  client(projectId?: string): Firestore;
  close(): Promise<void>;
}

/** Creates a client without FIRESTORE_EMULATOR_HOST, which all tests of the process would share. */
export const connect = (address: string, projectId: string): Firestore =>
  new Firestore({ projectId, host: address, ssl: false, customHeaders: {} });

let projects = 0;

export async function startFirestoreTestServer(options: FirestoreOptions = {}): Promise<FirestoreTestServer> {
  const server = await startFirestore(options);
  const clients: Firestore[] = [];
  return {
    server,
    client: (projectId = `project-${++projects}`) => {
      const client = connect(server.address, projectId);
      clients.push(client);
      return client;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.terminate()));
      await server.close();
    },
  };
}

/** Starts a server in a process of its own. @param before code that runs first */
export async function spawnServer(options: FirestoreOptions = {}, before = '') {
  const start = `${before} require('./emulator/src').startFirestore(${JSON.stringify(options)})`;
  const program = `${start}.then(({ address }) => process.stdout.write(address))`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--eval', program], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [address] = (await once(child.stdout, 'data')) as [Buffer];
  return { process: child, address: address.toString() };
}

/** Returns the error that a promise rejects with. Throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: number; details?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}
