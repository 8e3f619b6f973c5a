import { Client, Metadata, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { observeCalls, type SendBytes } from './protocol/calls';
import type { EmbeddedFirestore } from './embedded';
import { RpcError, type Code } from './protocol/errors';
import { startGrpcServer } from './protocol/grpc-server';
import type { Rpc } from './protocol/requests';

/** A server in front of another Firestore. Its `clear` deletes documents only in databases to which the server has forwarded calls. */
export type FirestoreFront = Omit<EmbeddedFirestore, 'observeCommits' | 'addIfEmpty'>;

/**
 * Starts a server that forwards calls to another Firestore and injects faults. It refuses the calls that it cannot decode, because
 * they are malformed or because it does not serve them.
 * @param target the `host:port` of the other Firestore, such as Google's emulator
 */
export async function startFirestoreFront(target: string): Promise<FirestoreFront> {
  const client = new Client(target, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  const databases = new Set<string>();
  // New calls wait until `clear` has deleted the documents.
  let cleared: Promise<unknown> = Promise.resolve();
  const calls = observeCalls(async ({ rpc, project, database }, bytes, send) => {
    await cleared;
    databases.add(`projects/${project}/databases/${database}`);
    await forward(client, rpc, bytes, send);
  });
  const server = await startGrpcServer(0, calls.handle);
  return {
    port: server.port,
    address: `127.0.0.1:${server.port}`,
    faults: calls.faults,
    observe: calls.observe,
    counts: calls.counts,
    clear: () => {
      const deleted = [...databases].map((name) => clearEmulator(target, name));
      cleared = cleared.then(() => Promise.all(deleted));
    },
    close: async () => {
      await cleared;
      client.close();
      await server.close();
    },
  };
}

/** Deletes all documents of a database, `projects/*\/databases/*`, through the REST interface of Google's emulator. */
export async function clearEmulator(target: string, database: string): Promise<void> {
  const response = await fetch(`http://${target}/emulator/v1/${database}/documents`, { method: 'DELETE' });
  if (!response.ok) throw new Error(`${database} at ${target} was not cleared: HTTP status ${response.status}`);
}

const passThrough = (bytes: Buffer): Buffer => bytes;

/** Forwards a call to another Firestore, and sends its response messages to the client. */
function forward(client: Client, rpc: Rpc, bytes: Buffer, send: SendBytes): Promise<void> {
  const metadata = new Metadata();
  // With this token, Google's emulator applies no security rules to the call.
  metadata.set('authorization', 'Bearer owner');
  const path = `/google.firestore.v1.Firestore/${rpc}`;
  const call = client.makeServerStreamRequest(path, passThrough, passThrough, bytes, metadata);
  return new Promise((resolve, reject) => {
    let sent: Promise<void> = Promise.resolve();
    call.on('data', (message: Buffer) => {
      sent = sent.then(() => send(message));
    });
    call.on('end', () => void sent.then(resolve, reject));
    call.on('error', ({ code, details }: ServiceError) => reject(new RpcError(status[code] as Code, details)));
  });
}
