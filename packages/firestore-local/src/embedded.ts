import { RpcError, invalid } from './errors';
import { IN_MEMORY } from './data-folder';
import { SqliteStorage } from './sqlite-storage';
import { Faults, NoResponse, type Call, type EndedCall, type MatchedFaults } from './faults';
import { Indexes, type IndexDefinitions } from './indexes';
import { Locks } from './locks';
import { RPCS, decodeRequest, encodeResponse, type Requests, type Rpc, type Write } from './schema';
import { Service, type RpcContext, type SendMessage } from './service';
import { Store } from './store';
import { FIRESTORE_LIMITS, Transactions, type TransactionLimits } from './transactions';
import { toFields } from './values';
import { startGrpcServer, type ConnectionHandlers, type GrpcServer, type ResponseStream } from './grpc-server';

/** How to start an embedded Firestore. */
export interface FirestoreOptions {
  /** The address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** The port to listen on. Default 0, any free one. */
  readonly port?: number;
  /** The folder of the data. Default `:memory:`, which keeps nothing. */
  readonly dataDir?: string;
  /** The parsed `firestore.indexes.json`. Without it, no query needs a declared index. */
  readonly indexes?: IndexDefinitions;
  /** The clock of update times, read times and server timestamps, in milliseconds since 1970. */
  readonly now?: () => number;
  /** How long transactions may last. Default: Firestore's limits. */
  readonly transactionLimits?: TransactionLimits;
}

/** A running Firestore, for clients with `FIRESTORE_EMULATOR_HOST=<address>`. */
export interface EmbeddedFirestore {
  readonly host: string;
  readonly port: number;
  /** `host:port`, as in FIRESTORE_EMULATOR_HOST. */
  readonly address: string;
  /** What handles the calls of a connection, for a client in this process that makes none. */
  readonly handlers: ConnectionHandlers;
  /** Faults for tests. */
  readonly faults: Pick<Faults, 'inject' | 'clear'>;
  /** Calls a listener with every call that has ended. Returns the function that removes it. */
  observe(listener: (call: EndedCall) => void): () => void;
  /** How many calls of each operation have arrived. */
  counts(): Record<Rpc, number>;
  /**
   * Adds documents to a project that has none, in one commit, without a client.
   *
   * @returns how many it added; 0 if there was a document
   */
  addIfEmpty(project: string, documents: readonly PlainDocument[]): Promise<number>;
  /** Deletes all data of all databases and rolls back every open transaction. */
  clear(): void;
  /** Stops the server, closes the connections and the data folder. */
  close(): Promise<void>;
}

/** A document of plain JSON values. */
export interface PlainDocument {
  readonly collection: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** https://firebase.google.com/docs/firestore/quotas: the maximum size of a request, and so of a commit. */
const MAX_REQUEST_BYTES = 10 * 1024 * 1024;

/**
 * Starts an embedded Firestore.
 *
 * @throws Error with a message for the user: the port is taken, or the data folder is in use, damaged or of another version
 */
export async function startFirestore(options: FirestoreOptions = {}): Promise<EmbeddedFirestore> {
  const { host = '127.0.0.1', port = 0, dataDir = IN_MEMORY, now = Date.now } = options;
  const store = new Store(dataDir === IN_MEMORY ? undefined : SqliteStorage.open(dataDir), now);
  const locks = new Locks();
  const transactions = new Transactions(locks, store, options.transactionLimits ?? FIRESTORE_LIMITS);
  const indexes = new Indexes(options.indexes ?? {});
  const service = new Service(store, locks, transactions, indexes, options.indexes !== undefined);
  const faults = new Faults();
  const listeners = new Set<(call: EndedCall) => void>();
  const counts = Object.fromEntries(RPCS.map((rpc) => [rpc, 0])) as Record<Rpc, number>;
  let sequence = 0;

  const handlers: ConnectionHandlers = {
    handle: (rpc, bytes, peer, stream) => {
      counts[rpc]++;
      sequence++;
      void handleCall(service, faults, { rpc, bytes, peer, sequence }, stream).then((ended) => {
        if (ended) for (const listener of listeners) listener(ended);
      });
    },
    onDisconnect: (peer) => transactions.onDisconnect(peer),
  };
  let server: GrpcServer;
  try {
    server = await startGrpcServer(host, port, handlers);
  } catch (error) {
    transactions.close();
    store.close();
    throw error;
  }
  return {
    host,
    port: server.port,
    address: `${host}:${server.port}`,
    handlers,
    faults,
    observe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    counts: () => ({ ...counts }),
    addIfEmpty: (project, documents) => addIfEmpty(service, project, documents),
    clear: () => {
      transactions.clear();
      store.clear();
    },
    close: async () => {
      transactions.close();
      await server.close();
      store.close();
    },
  };
}

async function addIfEmpty(service: Service, project: string, documents: readonly PlainDocument[]): Promise<number> {
  const database = `projects/${project}/databases/(default)`;
  const context: RpcContext = { peer: 'this process' };
  const writes = documents.map(({ collection, id, data }): Write => ({
    kind: 'update',
    name: `${database}/documents/${collection}/${id}`,
    fields: toFields(data),
    mask: undefined,
    transforms: [],
    precondition: undefined,
  }));
  const found: string[] = [];
  const request = { parent: `${database}/documents`, pageSize: 1, pageToken: '' };
  const onCollections: SendMessage = (response) => {
    found.push(...(response as { collectionIds: string[] }).collectionIds);
    return undefined;
  };
  await service.respond('ListCollectionIds', request, onCollections, context);
  if (found.length > 0) return 0;
  await service.respond('Commit', { database, writes, transaction: undefined }, () => undefined, context);
  return writes.length;
}

interface IncomingCall {
  readonly rpc: Rpc;
  readonly bytes: Buffer;
  readonly peer: string;
  readonly sequence: number;
}

/** Handles one call with its faults. Returns how it ended; undefined if its request is invalid. */
async function handleCall(
  service: Service,
  faults: Faults,
  incoming: IncomingCall,
  stream: ResponseStream,
): Promise<EndedCall | undefined> {
  const startedAt = performance.now();
  const context: RpcContext = { peer: incoming.peer };
  let call: Call | undefined;
  const toEndedCall = (outcome: EndedCall['outcome'], message = ''): EndedCall | undefined =>
    call && { ...call, outcome, message, durationMs: performance.now() - startedAt };
  // A client that cancels before the end never learns of the transaction that the call began.
  let ended = false;
  stream.onCancel(() => {
    if (!ended) service.cancel(context);
  });
  try {
    call = decodeCall(incoming);
    const matched = faults.matchFaults(call);
    await matched.at('before');
    await matched.at(0);
    await service.respond(call.rpc, call.request, createSender(call.rpc, stream, matched), context);
    await matched.at('after');
    ended = true;
    stream.end();
    return toEndedCall('OK');
  } catch (error) {
    service.cancel(context);
    if (error instanceof NoResponse) {
      if (error.kind === 'DROPPED') stream.destroyConnection();
      return toEndedCall(error.kind);
    }
    if (!(error instanceof RpcError)) console.error(`${incoming.rpc} failed:`, error);
    const rpcError = error instanceof RpcError ? error : new RpcError('INTERNAL', String(error));
    if (!stream.cancelled) stream.fail(rpcError);
    return toEndedCall(rpcError.code, rpcError.message);
  }
}

function decodeCall({ rpc, bytes, sequence }: IncomingCall): Call {
  if (bytes.length > MAX_REQUEST_BYTES) {
    throw invalid(`Request payload size exceeds the limit: ${MAX_REQUEST_BYTES} bytes.`);
  }
  const request = decodeRequest(rpc, bytes);
  const [, project = '', , database = ''] = findResourceName(request).split('/');
  return { rpc, project, database, request, sequence };
}

/** A resource name in a request. All names in it are of one database. */
function findResourceName(request: Requests[Rpc]): string {
  if ('database' in request) return request.database;
  return 'query' in request ? request.query.parent : request.parent;
}

function createSender(rpc: Rpc, stream: ResponseStream, matched: MatchedFaults): SendMessage {
  let sent = 0;
  return (message) => {
    if (stream.cancelled) throw new RpcError('CANCELLED', 'The client cancelled the call.');
    const drained = stream.send(encodeResponse(rpc, message));
    sent++;
    return drained ? drained.then(() => matched.at(sent)) : matched.at(sent);
  };
}
