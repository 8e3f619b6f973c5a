import { SqliteStorage } from './storage/sqlite-storage';
import { observeCalls } from './protocol/calls';
import { decodeFields } from './protocol/codec';
import type { DocumentChange, StoredDoc } from './storage/collections';
import { encodeResponse } from './protocol/decode-request';
import type { EndedCall, Faults } from './protocol/faults';
import { Indexes, type IndexDefinitions } from './engine/indexes';
import type { Requests, Rpc, Write } from './protocol/requests';
import { Service } from './engine/service';
import { Store } from './storage/store';
import { Transactions } from './engine/transactions';
import { toFields, type MapValue } from './protocol/values';
import { startGrpcServer, type GrpcServer } from './protocol/grpc-server';

/** The value of `dataDir` that keeps the documents in memory only. */
const IN_MEMORY = ':memory:';

export interface FirestoreOptions {
  /** The port to listen on. The default, 0, selects a free port. */
  readonly port?: number;
  /** The data folder. The default `:memory:` stores nothing on disk. */
  readonly dataDir?: string;
  /** The parsed `firestore.indexes.json`. Without it, no query needs a declared index. */
  readonly indexes?: IndexDefinitions;
  /** The clock of commits and reads, in milliseconds since 1970. The default is `Date.now`. */
  readonly clock?: () => number;
}

/** A running Firestore. Clients reach it with `FIRESTORE_EMULATOR_HOST=<address>`. */
export interface EmbeddedFirestore {
  readonly port: number;
  /** `127.0.0.1:port`, as in FIRESTORE_EMULATOR_HOST. */
  readonly address: string;
  /** Injects faults into calls, and removes them. */
  readonly faults: Pick<Faults, 'inject' | 'clear'>;
  /**
   * Calls a listener with every call that the server has finished, if the server could decode the request. Returns the function
   * that removes the listener.
   */
  observe(listener: (call: EndedCall) => void): () => void;
  /**
   * Calls a listener with every commit that changes a document, in order, before the response is sent. If the listener threw, the
   * client would get an error for a commit that has taken effect. Returns the function that removes the listener.
   */
  observeCommits(listener: (changes: readonly CommittedChange[]) => void): () => void;
  /** Returns how many complete requests of each operation the server has read, including those that it could not decode. */
  counts(): Record<Rpc, number>;
  /**
   * Adds documents to the default database of a project in one commit, if the database has none.
   *
   * @returns the number of documents that it added, or 0 if the database already had documents
   */
  addIfEmpty(project: string, documents: readonly PlainDocument[]): Promise<number>;
  /**
   * Deletes all data of all databases and ends every open transaction. If the clock has been set back, later commits can have
   * earlier times than the deleted documents.
   */
  clear(): void;
  /** Stops the server, and closes its connections and the data folder. */
  close(): Promise<void>;
}

/** The change of one document by a commit. Each access to `before` or `after` decodes the document. */
export interface CommittedChange {
  /** The full resource name of the document. */
  readonly name: string;
  /** The document before the commit; undefined if there was none. */
  readonly before: MapValue | undefined;
  /** The document after the commit; undefined if the commit deleted it. */
  readonly after: MapValue | undefined;
}

/** A document of plain JSON values. */
export interface PlainDocument {
  readonly collection: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** @throws Error with a message for the user, if the port, the data folder or the indexes cannot be used */
export async function startFirestore(options: FirestoreOptions = {}): Promise<EmbeddedFirestore> {
  const { port = 0, dataDir = IN_MEMORY, clock = Date.now } = options;
  const indexes = new Indexes(options.indexes ?? {});
  const storage = dataDir === IN_MEMORY ? undefined : SqliteStorage.open(dataDir);
  const store = new Store(storage, clock);
  const transactions = new Transactions();
  const service = new Service(store, transactions, indexes, options.indexes !== undefined);
  const calls = observeCalls(({ rpc, request }, _, send) =>
    service.respond(rpc, request, (message) => send(encodeResponse(rpc, message))),
  );
  let server: GrpcServer;
  try {
    server = await startGrpcServer(port, calls.handle);
  } catch (error) {
    store.close();
    throw error;
  }
  return {
    port: server.port,
    address: `127.0.0.1:${server.port}`,
    faults: calls.faults,
    observe: calls.observe,
    observeCommits: (listener) => store.observe((changes) => listener(changes.map(toCommittedChange))),
    counts: calls.counts,
    addIfEmpty: async (project, documents) => {
      const request = createSeed(project, documents);
      const collections = store.descendantCollections(`${request.database}/documents`);
      if (collections.some((path) => store.hasDocuments(path))) return 0;
      await service.respond('Commit', request, () => undefined);
      return documents.length;
    },
    clear: () => {
      transactions.clear();
      store.clear();
    },
    close: async () => {
      await server.close();
      store.close();
    },
  };
}

function toCommittedChange({ collection, id, old, doc }: DocumentChange): CommittedChange {
  const decode = (version: StoredDoc | undefined) => version && decodeFields(version.fields);
  return {
    name: `${collection}/${id}`,
    get before() {
      return decode(old);
    },
    get after() {
      return decode(doc);
    },
  };
}

function createSeed(project: string, documents: readonly PlainDocument[]): Requests['Commit'] {
  const database = `projects/${project}/databases/(default)`;
  const writes = documents.map(({ collection, id, data }): Write => ({
    kind: 'update',
    name: `${database}/documents/${collection}/${id}`,
    fields: toFields(data),
    mask: undefined,
    precondition: undefined,
  }));
  return { database, writes, transaction: undefined };
}
