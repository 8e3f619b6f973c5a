import type { Indexes } from './indexes';
import { encodeTransactionId } from '../protocol/message-readers';
import { assertInDatabase, getDatabaseName, parseDocumentPath } from '../protocol/paths';
import { encodeStoredDocument } from './projection';
import { prepareQuery, runQuery, type PreparedQuery } from './query';
import type { Consistency, Requests } from '../protocol/requests';
import type { StoredDoc } from '../storage/collections';
import type { Store } from '../storage/store';
import type { Transaction, Transactions } from './transactions';
import { Timestamp } from '../protocol/values';

/** Sends one message of a response. If the function returns a promise, the caller waits for it before the next message. */
export type SendMessage = (message: object) => Promise<void> | undefined;

/** The time and the transaction of a read. */
interface ReadContext {
  /** The time of the versions that the read returns, in microseconds; undefined stands for the latest versions. */
  readonly readTime: number | undefined;
  /** The read time of the response. */
  readonly shownTime: Timestamp;
  /** The id of a transaction that this read began, for the response. */
  readonly begun: Buffer | undefined;
  /** Adds a check of this read to its transaction. The commit runs the check. Undefined outside of a transaction. */
  readonly addRead: ((isUnchanged: () => boolean) => void) | undefined;
}

/** The operations that read documents: now, at a read time, or in a transaction. */
export class Reads {
  constructor(
    private readonly store: Store,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
    private readonly requireIndexes: boolean,
  ) {}

  async batchGet(
    { database, documents, mask, consistency }: Requests['BatchGetDocuments'],
    send: SendMessage,
  ): Promise<void> {
    const paths = [...new Set(documents)].map(parseDocumentPath);
    for (const path of paths) assertInDatabase(path, database);
    const { readTime, shownTime, begun, addRead } = this.open(database, consistency);
    const docs = paths.map((path) => this.store.get(path, readTime));
    addRead?.(() => paths.every((path, i) => this.store.get(path) === docs[i]));
    const common = { readTime: shownTime };
    if (begun) await send({ ...common, transaction: begun });
    for (const [i, doc] of docs.entries()) {
      const result = doc ? { found: encodeStoredDocument(doc, mask) } : { missing: paths[i]?.name };
      await send({ ...common, ...result });
    }
  }

  async query({ query, consistency }: Requests['RunQuery'], send: SendMessage): Promise<void> {
    const prepared = prepareQuery(query);
    const context = this.open(getDatabaseName(query.parent), consistency);
    const common = { readTime: context.shownTime };
    const results = this.run(prepared, context);
    if (context.begun) await send({ ...common, transaction: context.begun });
    let count = 0;
    for (const doc of results) {
      count++;
      const pending = send({ ...common, document: encodeStoredDocument(doc, query.select) });
      if (pending) await pending;
    }
    // Firestore sends a read time even if the query finds no document.
    if (count === 0) await send(common);
  }

  async count({ query, alias, consistency }: Requests['RunAggregationQuery'], send: SendMessage): Promise<void> {
    const prepared = prepareQuery(query);
    const context = this.open(getDatabaseName(query.parent), consistency);
    const count = BigInt([...this.run(prepared, context)].length);
    if (context.begun) await send({ transaction: context.begun });
    await send({ result: { aggregateFields: { [alias]: count } }, readTime: context.shownTime });
  }

  /** Runs a query. The commit of a transaction runs it again and compares the results. */
  private run(prepared: PreparedQuery, { readTime, addRead }: ReadContext): Iterable<StoredDoc> {
    this.assertIndexed(prepared);
    if (!addRead) return runQuery(prepared, this.store, readTime);
    const found = [...runQuery(prepared, this.store, undefined)];
    addRead(() => {
      const current = [...runQuery(prepared, this.store, undefined)];
      return current.length === found.length && current.every((doc, i) => doc === found[i]);
    });
    return found;
  }

  /** @throws RpcError FAILED_PRECONDITION if the server requires declared indexes and the query needs an undeclared one */
  private assertIndexed({ source, orders }: PreparedQuery): void {
    if (!this.requireIndexes) return;
    const scope = source.allDescendants ? 'COLLECTION_GROUP' : 'COLLECTION';
    this.indexes.assertIndexed(source.collectionId, scope, source.filter, orders);
  }

  /** Finds or begins the transaction of a read that has one, and determines the read time. */
  private open(database: string, consistency: Consistency): ReadContext {
    const isNew = consistency.kind === 'newTransaction';
    let transaction: Transaction | undefined;
    if (isNew) transaction = this.transactions.begin(database);
    else if (consistency.kind === 'transaction') transaction = this.transactions.get(consistency.id, database);
    const readTime = consistency.kind === 'readTime' ? consistency.readTime : undefined;
    if (readTime !== undefined) this.store.assertReadable(readTime);
    return {
      readTime,
      shownTime: Timestamp.fromMicros(readTime ?? this.store.readTime()),
      begun: isNew && transaction ? encodeTransactionId(transaction.id) : undefined,
      addRead: transaction && ((read) => void transaction.reads.push(read)),
    };
  }
}
