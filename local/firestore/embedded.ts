import { RpcError, invalid } from './errors';
import { SqliteStorage } from './sqlite-storage';
import { Faults, NoResponse, type Call, type EndedCall, type MatchedFaults } from './faults';
import { Indexes, type IndexDefinitions } from './indexes';
import { Locks } from './locks';
import { getDatabaseName } from './paths';
import { RPCS, decodeRequest, type Requests, type Rpc } from './schema';
import { Service, type RpcContext } from './service';
import { Store } from './store';
import { FIRESTORE_LIMITS, Transactions, type TransactionLimits } from './transactions';
import { startGrpcServer, type ResponseStream, type GrpcServer } from './grpc-server';

/** How to start an embedded Firestore. */
export interface FirestoreOptions {
  /** The address to listen at; 127.0.0.1 by default. */
  readonly host?: string;
  /** The port to listen at; 0, the default, is any that is free. */
  readonly port?: number;
  /** The folder to keep the data in; `:memory:`, the default, keeps nothing. */
  readonly dataDir?: string;
  /** The parsed `firestore.indexes.json`. Without it no query is refused for want of an index. */
  readonly indexes?: IndexDefinitions;
  /** Milliseconds since 1970; the clock that update times and server timestamps come from. */
  readonly now?: () => number;
  /** How long transactions may last; Firestore's own limits by default. */
  readonly transactionLimits?: TransactionLimits;
}

/** A running Firestore. Point clients at it with `FIRESTORE_EMULATOR_HOST=<address>`. */
export interface EmbeddedFirestore {
  readonly host: string;
  readonly port: number;
  /** `host:port`, the form of FIRESTORE_EMULATOR_HOST. */
  readonly address: string;
  /** Faults for tests. */
  readonly faults: Pick<Faults, 'inject' | 'clear'>;
  /** Calls a listener with every call that has ended, until the function that it returns is called. */
  observe(listener: (call: EndedCall) => void): () => void;
  /** How many calls of each operation have arrived since the start. */
  counts(): Record<Rpc, number>;
  /** Drops all data of all databases and rolls back every open transaction. */
  clear(): void;
  /** Stops serving, cuts the connections, and closes the data folder. */
  close(): Promise<void>;
}

/** https://firebase.google.com/docs/firestore/quotas: the maximum size of a request, and so of a commit. */
const MAX_REQUEST_BYTES = 10 * 1024 * 1024;

/**
 * Starts an embedded Firestore. Rejects with an Error whose message can be shown as it is: a taken port, a data folder that
 * is in use, damaged, or of another version.
 */
export async function startFirestore(options: FirestoreOptions = {}): Promise<EmbeddedFirestore> {
  const { host = '127.0.0.1', port = 0, dataDir = ':memory:', now = Date.now } = options;
  const store = new Store(dataDir === ':memory:' ? undefined : SqliteStorage.open(dataDir), now);
  const locks = new Locks();
  const transactions = new Transactions(locks, store, options.transactionLimits ?? FIRESTORE_LIMITS);
  const indexes = new Indexes(options.indexes ?? {});
  const service = new Service(store, locks, transactions, indexes, options.indexes !== undefined);
  const faults = new Faults();
  const listeners = new Set<(call: EndedCall) => void>();
  const counts = Object.fromEntries(RPCS.map((rpc) => [rpc, 0])) as Record<Rpc, number>;
  let sequence = 0;

  const handle = (rpc: Rpc, bytes: Buffer, peer: string, reply: ResponseStream): void => {
    counts[rpc]++;
    sequence++;
    void handleCall(service, faults, { rpc, bytes, peer, sequence }, reply).then((ended) => {
      if (ended) for (const listener of listeners) listener(ended);
    });
  };

  let wire: GrpcServer;
  try {
    wire = await startGrpcServer(host, port, handle, (peer) => transactions.disconnected(peer));
  } catch (error) {
    transactions.close();
    store.close();
    throw error;
  }
  return {
    host,
    port: wire.port,
    address: `${host}:${wire.port}`,
    faults,
    observe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    counts: () => ({ ...counts }),
    clear: () => {
      transactions.clear();
      store.clear();
    },
    close: async () => {
      transactions.close();
      await wire.close();
      store.close();
    },
  };
}

interface IncomingCall {
  readonly rpc: Rpc;
  readonly bytes: Buffer;
  readonly peer: string;
  readonly sequence: number;
}

/** Serves one call, past its faults, and tells how it ended; undefined when its request could not even be read. */
async function handleCall(
  service: Service,
  faults: Faults,
  arrival: IncomingCall,
  reply: ResponseStream,
): Promise<EndedCall | undefined> {
  const startedAt = performance.now();
  const context: RpcContext = { peer: arrival.peer };
  let call: Call | undefined;
  const ended = (outcome: EndedCall['outcome'], message = ''): EndedCall | undefined =>
    call && { ...call, outcome, message, durationMs: performance.now() - startedAt };
  // A client that gives up in the middle never learns of the transaction that the call began.
  let answered = false;
  reply.onCancel(() => {
    if (!answered) service.cancel(context);
  });
  try {
    call = readCall(arrival);
    const strikes = faults.matchFaults(call);
    await strikes.at('before');
    await respond(service, call, context, strikes, reply);
    await strikes.at('after');
    answered = true;
    reply.end();
    return ended('OK');
  } catch (error) {
    service.cancel(context);
    if (error instanceof NoResponse) {
      if (error.kind === 'DROPPED') reply.destroyConnection();
      return ended(error.kind);
    }
    if (!(error instanceof RpcError)) console.error(`${arrival.rpc} failed:`, error);
    const known = error instanceof RpcError ? error : new RpcError('INTERNAL', String(error));
    if (!reply.cancelled) reply.fail(known);
    return ended(known.code, known.message);
  }
}

function readCall({ rpc, bytes, sequence }: IncomingCall): Call {
  if (bytes.length > MAX_REQUEST_BYTES) {
    throw invalid(`Request payload size exceeds the limit: ${MAX_REQUEST_BYTES} bytes.`);
  }
  const request = decodeRequest(rpc, bytes);
  const [, project = '', , database = ''] = getDatabaseName(resourceOf(request)).split('/');
  return { rpc, project, database, request, sequence };
}

/** Some resource name in a request: all of them are of one database. */
function resourceOf(request: Requests[Rpc]): string {
  if ('database' in request) return request.database;
  if ('query' in request) return request.query.parent;
  return 'name' in request ? request.name : request.parent;
}

async function respond(
  service: Service,
  call: Call,
  context: RpcContext,
  strikes: MatchedFaults,
  reply: ResponseStream,
): Promise<void> {
  let sent = 0;
  await strikes.afterMessages(sent);
  for await (const message of service.respond(call.rpc, call.request, context)) {
    if (reply.cancelled) throw new RpcError('CANCELLED', 'The client gave up.');
    await reply.send(message);
    sent++;
    await strikes.afterMessages(sent);
  }
}
