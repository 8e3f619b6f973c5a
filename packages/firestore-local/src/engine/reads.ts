import { createAggregator } from './aggregations';
import { assertAggregated, assertAggregations } from './aggregation-rules';
import { encodeMissingDocument } from '../protocol/codec';
import type { Indexes } from './indexes';
import { listDocuments } from './listing';
import type { LockOwner, Locks } from './locks';
import { encodeTransactionId } from '../protocol/message-readers';
import { assertInDatabase, getDatabaseName, parseDocumentPath, type FieldPath } from '../protocol/paths';
import { encodeStoredDocument } from './projection';
import { prepareQuery, runQuery, type PreparedQuery } from './query';
import { assertNameOrder } from './query-rules';
import type { Consistency, Requests } from '../protocol/requests';
import type { CallContext } from '../protocol/calls';
import type { Store } from '../storage/store';
import type { Transaction, Transactions } from './transactions';
import { Timestamp } from '../protocol/values';

/** Sends one message of a response. Returns a promise while the client has to catch up. */
export type SendMessage = (message: object) => Promise<void> | undefined;

/** How a read sees the documents: with the locks of a transaction, at a time in microseconds, or as they are now. */
interface ReadContext {
  readonly owner: LockOwner | undefined;
  readonly readTime: number | undefined;
  /** The id of a transaction that this read began, for the response. */
  readonly begun: Buffer | undefined;
}

/** The operations that read documents: now, at a read time, or with the locks of a transaction. */
export class Reads {
  constructor(
    private readonly store: Store,
    private readonly locks: Locks,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
    private readonly requireIndexes: boolean,
  ) {}

  async batchGet(
    { database, documents, mask, consistency }: Requests['BatchGetDocuments'],
    send: SendMessage,
    context: CallContext,
  ): Promise<void> {
    const paths = [...new Set(documents)].map(parseDocumentPath);
    for (const path of paths) assertInDatabase(path, database);
    await this.read(database, consistency, context, async ({ owner, begun, readTime }) => {
      const names = paths.map(({ name }) => name);
      if (owner) await this.locks.read(owner, names);
      const docs = paths.map((path) => this.store.get(path, readTime));
      const common = { readTime: this.toReadTime(readTime) };
      if (begun) await send({ ...common, transaction: begun });
      for (const [i, doc] of docs.entries()) {
        await send({ ...common, ...(doc ? { found: encodeStoredDocument(doc, mask) } : { missing: names[i] }) });
      }
    });
  }

  listDocuments(request: Requests['ListDocuments'], context: CallContext): Promise<object> {
    const { parent, mask, consistency } = request;
    return this.read(getDatabaseName(parent), consistency, context, ({ readTime }) => {
      const { documents, nextPageToken } = listDocuments(request, this.store, readTime);
      const encoded = documents.map(([name, doc]) =>
        doc ? encodeStoredDocument(doc, mask) : encodeMissingDocument(name),
      );
      return Promise.resolve({ documents: encoded, nextPageToken });
    });
  }

  async query({ query, consistency }: Requests['RunQuery'], send: SendMessage, context: CallContext): Promise<void> {
    const prepared = prepareQuery(query);
    await this.read(getDatabaseName(query.parent), consistency, context, async ({ owner, begun, readTime }) => {
      this.assertIndexed(prepared);
      if (owner) await this.locks.readRange(owner, prepared);
      const common = { readTime: this.toReadTime(readTime) };
      const results = runQuery(prepared, this.store, readTime);
      if (begun) await send({ ...common, transaction: begun });
      let count = 0;
      for (const docs of results) {
        count += docs.length;
        for (const doc of docs) {
          const pending = send({ ...common, document: encodeStoredDocument(doc, query.select) });
          if (pending) await pending;
        }
      }
      // An empty result also carries a read time.
      if (count === 0) await send(common);
    });
  }

  aggregate(
    { query, aggregations, consistency }: Requests['RunAggregationQuery'],
    context: CallContext,
  ): Promise<object> {
    assertAggregations(aggregations);
    const paths = aggregations.flatMap((aggregation) => (aggregation.kind === 'count' ? [] : [aggregation.path]));
    const prepared = prepareQuery(query, paths);
    return this.read(getDatabaseName(query.parent), consistency, context, async ({ owner, begun, readTime }) => {
      this.assertIndexed(prepared, paths);
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

  /** @throws RpcError FAILED_PRECONDITION for a query that needs an index which is not declared */
  private assertIndexed({ source, orders }: PreparedQuery, aggregated: readonly FieldPath[] = []): void {
    assertNameOrder(source, this.indexes);
    assertAggregated(source, aggregated);
    if (!this.requireIndexes) return;
    const scope = source.allDescendants ? 'COLLECTION_GROUP' : 'COLLECTION';
    this.indexes.assertIndexed(source.collectionId, scope, source.filter, orders, aggregated);
  }

  /** Runs a read in its context, and keeps the transaction from becoming idle during the read. */
  private async read<T>(
    database: string,
    consistency: Consistency,
    context: CallContext,
    work: (read: ReadContext) => Promise<T>,
  ): Promise<T> {
    const isNew = consistency.kind === 'newTransaction';
    let transaction: Transaction | undefined;
    if (isNew) {
      transaction = this.transactions.begin(database, consistency.options, context);
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
