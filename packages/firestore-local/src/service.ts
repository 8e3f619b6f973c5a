import { createAggregator } from './aggregations';
import { encodeDocument, encodeMissingDocument } from './codec';
import { getResourceName, type DocumentChange, type StoredDoc } from './collections';
import { RpcError, invalid } from './errors';
import type { Indexes } from './indexes';
import { listCollectionIds, listDocuments } from './listing';
import { LockOwner, transactionEndedError, type Locks } from './locks';
import { getDatabaseName, parseDocumentPath, type FieldPath } from './paths';
import { prepareQuery, runQuery, type PreparedQuery } from './query';
import { assertAggregated, assertNameOrder } from './query-rules';
import { encodeTransactionId } from './schema';
import type { Consistency, Requests, Rpc, StructuredQuery, Write } from './schema';
import type { Store } from './store';
import type { Transaction, Transactions } from './transactions';
import { Timestamp } from './values';
import { applyWrite, assertWrite, projectFields, type WriteResult } from './writes';

/** The context of a call. */
export interface RpcContext {
  /** The connection that the call came by. */
  readonly peer: string;
  /** A transaction that the call began, which ends if the client never learns of it. */
  begun?: Transaction;
  /** The owner of a write outside of any transaction, which is released if the client leaves while it waits. */
  writer?: LockOwner;
}

/** How a read sees the documents: with the locks of a transaction, at a time in microseconds, or neither. */
interface ReadContext {
  readonly owner: LockOwner | undefined;
  readonly readTime: number | undefined;
  /** The id of a transaction that this read began, for the response. */
  readonly begun: Buffer | undefined;
}

/** Sends one message of a response; a promise while the client has to catch up. */
export type SendMessage = (message: object) => Promise<void> | undefined;

type Handlers = {
  readonly [K in Rpc]: (request: Requests[K], send: SendMessage, context: RpcContext) => Promise<void>;
};

type Mask = readonly FieldPath[] | undefined;

/** The operations of google.firestore.v1.Firestore, from decoded requests to response messages. */
export class Service {
  constructor(
    private readonly store: Store,
    private readonly locks: Locks,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
    private readonly requireIndexes: boolean,
  ) {}

  /** @throws RpcError for every status but OK */
  respond<K extends Rpc>(rpc: K, request: Requests[K], send: SendMessage, context: RpcContext): Promise<void> {
    return this.handlers[rpc](request, send, context);
  }

  /** Ends what a call began and its client never learned of, and what it still waits for. */
  cancel({ begun, writer }: RpcContext): void {
    if (begun) this.transactions.end(begun, 'rolled back');
    if (writer) this.locks.release(writer);
  }

  private readonly handlers: Handlers = {
    GetDocument: async (request, send, context) => send(await this.getDocument(request, context)),
    CreateDocument: async (request, send, context) => send(await this.writeDocument(request, context)),
    UpdateDocument: async (request, send, context) => send(await this.writeDocument(request, context)),
    DeleteDocument: async (request, send, context) => {
      await this.write(request, context);
      await send({});
    },
    ListDocuments: async (request, send, context) => send(await this.listDocuments(request, context)),
    BatchGetDocuments: (request, send, context) => this.batchGet(request, send, context),
    BeginTransaction: async ({ database, options }, send, context) => {
      context.begun = this.transactions.begin(database, context.peer, options);
      await send({ transaction: encodeTransactionId(context.begun.id) });
    },
    Commit: async (request, send, context) => send(await this.commit(request, context)),
    Rollback: async ({ database, transaction }, send) => {
      this.transactions.rollBack(transaction, database);
      await send({});
    },
    RunQuery: (request, send, context) => this.query(request, send, context),
    RunAggregationQuery: async (request, send, context) => send(await this.aggregate(request, context)),
    ListCollectionIds: async (request, send) => send(listCollectionIds(request, this.store)),
    BatchWrite: async (request, send, context) => send(await this.batchWrite(request, context)),
  };

  private async batchGet(
    { database, documents, mask, consistency }: Requests['BatchGetDocuments'],
    send: SendMessage,
    context: RpcContext,
  ): Promise<void> {
    const paths = [...new Set(documents)].map(parseDocumentPath);
    for (const { name } of paths) assertInDatabase(name, database);
    await this.read(database, consistency, context, async ({ owner, begun, readTime }) => {
      const names = paths.map(({ name }) => name);
      if (owner) await this.locks.read(owner, names);
      const docs = paths.map((path) => this.store.get(path, readTime));
      const common = { readTime: this.toReadTime(readTime) };
      if (begun) await send({ ...common, transaction: begun });
      for (const [i, doc] of docs.entries()) {
        await send({ ...common, ...(doc ? { found: toDocument(doc, mask) } : { missing: names[i] }) });
      }
    });
  }

  private async query(
    { query, consistency }: Requests['RunQuery'],
    send: SendMessage,
    context: RpcContext,
  ): Promise<void> {
    const prepared = this.prepare(query, []);
    await this.read(getDatabaseName(query.parent), consistency, context, async ({ owner, begun, readTime }) => {
      if (owner) await this.locks.readRange(owner, prepared);
      const common = { readTime: this.toReadTime(readTime) };
      const results = runQuery(prepared, this.store, readTime);
      if (begun) await send({ ...common, transaction: begun });
      let count = 0;
      for (const docs of results) {
        count += docs.length;
        for (const doc of docs) {
          const pending = send({ ...common, document: toDocument(doc, query.select) });
          if (pending) await pending;
        }
      }
      // An empty result has a read time too.
      if (count === 0) await send(common);
    });
  }

  private aggregate(
    { query, aggregations, consistency }: Requests['RunAggregationQuery'],
    context: RpcContext,
  ): Promise<object> {
    const paths = aggregations.flatMap((aggregation) => (aggregation.kind === 'count' ? [] : [aggregation.path]));
    const prepared = this.prepare(query, paths);
    return this.read(getDatabaseName(query.parent), consistency, context, async ({ owner, begun, readTime }) => {
      if (owner) await this.locks.readRange(owner, prepared);
      const aggregators = aggregations.map(createAggregator);
      for (const docs of runQuery(prepared, this.store, readTime, false)) {
        for (const doc of docs) for (const { add } of aggregators) add(doc);
      }
      const aggregateFields = Object.fromEntries(
        aggregators.map(({ getResult }, i) => [aggregations[i]?.alias ?? '', getResult()]),
      );
      return { result: { aggregateFields }, readTime: this.toReadTime(readTime), transaction: begun };
    });
  }

  private listDocuments(request: Requests['ListDocuments'], context: RpcContext): Promise<object> {
    const { parent, mask, consistency } = request;
    return this.read(getDatabaseName(parent), consistency, context, ({ readTime }) => {
      const { documents, nextPageToken } = listDocuments(request, this.store, readTime);
      const encoded = documents.map(([name, doc]) => (doc ? toDocument(doc, mask) : encodeMissingDocument(name)));
      return Promise.resolve({ documents: encoded, nextPageToken });
    });
  }

  private getDocument(
    { database, name, mask, consistency }: Requests['GetDocument'],
    context: RpcContext,
  ): Promise<Buffer> {
    const path = parseDocumentPath(name);
    return this.read(database, consistency, context, async ({ owner, readTime }) => {
      if (owner) await this.locks.read(owner, [name]);
      const doc = this.store.get(path, readTime);
      if (!doc) throw new RpcError('NOT_FOUND', `Document (${name}) not found.`);
      return toDocument(doc, mask);
    });
  }

  /** Applies one write outside of any transaction. Returns the document after it; undefined if it was deleted. */
  private async write(
    { database, write }: Requests['DeleteDocument'],
    context: RpcContext,
  ): Promise<WriteResult['doc']> {
    const { results } = await this.apply(createWriter(context), database, [write], (each) => each(write));
    return results.doc;
  }

  private async writeDocument({ mask, ...request }: Requests['UpdateDocument'], context: RpcContext): Promise<Buffer> {
    const doc = await this.write(request, context);
    return doc ? toDocument(doc, mask) : encodeMissingDocument(request.write.name);
  }

  private async commit(
    { database, writes, transaction: id }: Requests['Commit'],
    context: RpcContext,
  ): Promise<object> {
    const transaction = id === undefined ? undefined : this.transactions.get(id, database, context.peer);
    if (transaction?.readTime !== undefined && writes.length > 0) {
      throw invalid('Cannot modify entities in a read-only transaction.');
    }
    if (transaction) {
      transaction.active++;
      transaction.committing = true;
    }
    const owner = transaction?.owner ?? createWriter(context);
    try {
      const { time, results } = await this.apply(owner, database, writes, (each) => writes.map(each));
      if (transaction) this.transactions.end(transaction, 'committed');
      return { writeResults: results.map(toWriteResult), commitTime: Timestamp.fromMicros(time) };
    } catch (error) {
      // A failed commit ends the transaction: its locks must not wait for a client that may not return.
      if (transaction) this.transactions.end(transaction, 'rolled back');
      throw error;
    }
  }

  /** Applies each write on its own: one that fails does not affect the others. */
  private async batchWrite({ database, writes }: Requests['BatchWrite'], context: RpcContext): Promise<object> {
    const names = new Set(writes.map(({ name }) => name));
    if (names.size < writes.length) throw invalid('Cannot write to the same document twice in one BatchWrite request.');
    const { results } = await this.apply(createWriter(context), database, writes, (each) =>
      writes.map((write) => {
        try {
          return each(write);
        } catch (error) {
          if (error instanceof RpcError) return error;
          throw error;
        }
      }),
    );
    return {
      writeResults: results.map((result) => (result instanceof RpcError ? {} : toWriteResult(result))),
      status: results.map((result) =>
        result instanceof RpcError ? { code: result.status, message: result.message } : {},
      ),
    };
  }

  /**
   * Locks the documents, computes the results of the writes, waits for conflicting queries of other transactions, and
   * applies the changes. `plan` calls its argument for each write in turn; a later write sees the earlier ones.
   */
  private async apply<T>(
    owner: LockOwner,
    database: string,
    writes: readonly Write[],
    plan: (each: (write: Write) => WriteResult) => T,
  ): Promise<{ time: number; results: T }> {
    const paths = new Map(writes.map(({ name }) => [name, parseDocumentPath(name)]));
    for (const name of paths.keys()) assertInDatabase(name, database);
    for (const write of writes) assertWrite(write);
    try {
      await this.locks.write(owner, [...paths.keys()]);
      for (;;) {
        const time = this.store.nextTime();
        const planned = new Map<string, DocumentChange>();
        const results = plan((write) => {
          const path = paths.get(write.name) ?? parseDocumentPath(write.name);
          const earlier = planned.get(write.name);
          const old = earlier ? earlier.old : this.store.get(path);
          const result = applyWrite(write, path, earlier ? earlier.doc : old, time, this.indexes);
          planned.set(write.name, { collection: path.collection, id: path.id, old, doc: result.doc });
          return result;
        });
        const changes = [...planned.values()].filter(({ old, doc }) => old !== doc);
        if (owner.ended) throw transactionEndedError();
        if (!this.locks.conflictsWithRanges(owner, changes)) {
          if (changes.length > 0) this.store.apply(changes, time);
          return { time, results };
        }
        await this.locks.awaitRanges(owner, changes);
      }
    } finally {
      if (owner.age === OUTSIDE) this.locks.release(owner);
    }
  }

  private prepare(query: StructuredQuery, aggregated: readonly FieldPath[]): PreparedQuery {
    const prepared = prepareQuery(query, aggregated);
    assertNameOrder(query, this.indexes);
    assertAggregated(query, aggregated);
    if (this.requireIndexes) {
      const scope = query.allDescendants ? 'COLLECTION_GROUP' : 'COLLECTION';
      this.indexes.assertIndexed(query.collectionId, scope, query.filter, prepared.orders, aggregated);
    }
    return prepared;
  }

  /** Runs a read in its context. A transaction does not become idle meanwhile. */
  private async read<T>(
    database: string,
    consistency: Consistency,
    context: RpcContext,
    work: (read: ReadContext) => Promise<T>,
  ): Promise<T> {
    const isNew = consistency.kind === 'newTransaction';
    let transaction: Transaction | undefined;
    if (isNew) {
      transaction = context.begun = this.transactions.begin(database, context.peer, consistency.options);
    } else if (consistency.kind === 'transaction') {
      transaction = this.transactions.get(consistency.id, database, context.peer);
    }
    const readTime = consistency.kind === 'readTime' ? consistency.readTime : transaction?.readTime;
    if (readTime !== undefined) this.store.assertReadable(readTime);
    const owner = readTime === undefined ? transaction?.owner : undefined;
    if (!transaction) return work({ owner, readTime, begun: undefined });
    transaction.active++;
    try {
      return await work({ owner, readTime, begun: isNew ? encodeTransactionId(transaction.id) : undefined });
    } finally {
      transaction.active--;
      transaction.lastUsedAt = performance.now();
    }
  }

  private toReadTime(readTime: number | undefined): Timestamp {
    return Timestamp.fromMicros(readTime ?? this.store.readTime());
  }
}

/** The age of a write outside of any transaction. It is the oldest, so it is never aborted. */
const OUTSIDE = -1;

const createWriter = (context: RpcContext): LockOwner => (context.writer = new LockOwner(OUTSIDE));

function assertInDatabase(name: string, database: string): void {
  if (getDatabaseName(name) !== database) throw invalid(`Document "${name}" is not in the database ${database}.`);
}

const toDocument = (doc: StoredDoc, mask: Mask): Buffer =>
  encodeDocument(getResourceName(doc), mask ? { ...doc, fields: projectFields(doc.fields, mask) } : doc);

const toWriteResult = ({ updateTime, transformResults }: WriteResult): object => ({
  ...(updateTime !== undefined && { updateTime: Timestamp.fromMicros(updateTime) }),
  transformResults,
});
