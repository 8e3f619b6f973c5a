import { encodeDocument, encodeValue, NO_FIELDS } from './codec';
import { getResourceName, type StoredDoc } from './collections';
import type { DocumentChange } from './sqlite-storage';
import { RpcError, invalid } from './errors';
import type { Indexes } from './indexes';
import { LockOwner, transactionEndedError, type Locks } from './locks';
import { collectionPath, getDatabaseName, documentPath, parentPath, type FieldPath } from './paths';
import { getQueryCollections, prepareQuery, runQuery, createValueReader, type PreparedQuery } from './query';
import { encodeResponse, transactionBytes } from './schema';
import type { Aggregation, Consistency, Requests, Rpc, StructuredQuery, Write } from './schema';
import type { SnapshotView, Store } from './store';
import type { Transaction, Transactions } from './transactions';
import { Timestamp, compareNames, compareStrings, isNumber, type Value } from './values';
import { add, applyWrite, project, type WriteResult } from './writes';

/** What a call knows of its surroundings. */
export interface RpcContext {
  /** The connection it came by. */
  readonly peer: string;
  /** A transaction that the call began, to be ended if the client never learns of it. */
  begun?: Transaction;
  /** The owner of a write outside of any transaction, which is given up if the client goes while it waits. */
  writer?: LockOwner;
}

/** What a read takes place in: a transaction's locks or its view of the past, or neither. */
interface ReadContext {
  readonly transaction: Transaction | undefined;
  readonly owner: LockOwner | undefined;
  readonly view: SnapshotView | undefined;
  /** The id to tell the client, when this read began the transaction. */
  readonly begun: Buffer | undefined;
}

/** An answer is the messages of it, encoded: one, or for the streaming operations any number. */
type Answer = AsyncIterable<Buffer>;

type Handlers = { readonly [K in Rpc]: (request: Requests[K], context: RpcContext) => Answer };

type Mask = readonly FieldPath[] | undefined;

/** The operations of google.firestore.v1.Firestore, from decoded requests to encoded responses. */
export class Service {
  constructor(
    private readonly store: Store,
    private readonly locks: Locks,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
    private readonly demandIndexes: boolean,
  ) {}

  /** Serves a call. Throws RpcError for every status but OK, at once or while the answer is read. */
  respond<K extends Rpc>(rpc: K, request: Requests[K], context: RpcContext): Answer {
    return this.handlers[rpc](request, context);
  }

  /** Ends what a call began that its client never heard of, and what it still waits to do. */
  cancel({ begun, writer }: RpcContext): void {
    if (begun) this.transactions.end(begun, 'rolled back');
    if (writer) this.locks.release(writer);
  }

  private readonly handlers: Handlers = {
    GetDocument: (request, context) => singleMessage(() => this.getDocument(request, context)),
    ListDocuments: (request, context) => singleMessage(() => this.listDocuments(request, context)),
    BatchGetDocuments: (request, context) => this.batchGet(request, context),
    BeginTransaction: ({ database, readOnly, retryOf }, context) =>
      singleMessage(() => {
        context.begun = this.transactions.begin(database, context.peer, readOnly, retryOf);
        return Promise.resolve(encodeResponse('BeginTransaction', { transaction: transactionBytes(context.begun.id) }));
      }),
    Commit: (request, context) => singleMessage(() => this.commit(request, context)),
    Rollback: ({ database, transaction }) =>
      singleMessage(() => {
        this.transactions.rollBack(transaction, database);
        return Promise.resolve(encodeResponse('Rollback', {}));
      }),
    RunQuery: (request, context) => this.query(request, context),
    RunAggregationQuery: (request, context) => singleMessage(() => this.aggregate(request, context)),
    ListCollectionIds: (request) => singleMessage(() => this.listCollectionIds(request)),
    BatchWrite: (request, context) => singleMessage(() => this.batchWrite(request, context)),
  };

  private async getDocument(
    { name, mask, consistency }: Requests['GetDocument'],
    context: RpcContext,
  ): Promise<Buffer> {
    const path = documentPath(name);
    const place = this.placeOf(getDatabaseName(name), consistency, context);
    return this.during(place, async () => {
      await this.store.load([path.collection]);
      if (place.owner) await this.locks.read(place.owner, [name]);
      const doc = this.store.get(path, place.view);
      if (!doc) throw new RpcError('NOT_FOUND', `Document "${name}" not found.`);
      return encodeDoc(doc, mask);
    });
  }

  private async *batchGet(request: Requests['BatchGetDocuments'], context: RpcContext): Answer {
    const { database, mask, consistency } = request;
    const paths = [...new Set(request.documents)].map(documentPath);
    for (const { name } of paths) checkDatabase(name, database);
    const place = this.placeOf(database, consistency, context);
    const found = await this.during(place, async () => {
      await this.store.load(new Set(paths.map(({ collection }) => collection)));
      if (place.owner)
        await this.locks.read(
          place.owner,
          paths.map(({ name }) => name),
        );
      return paths.map((path) => this.store.get(path, place.view));
    });
    const readTime = Timestamp.ofMicros(this.store.readTime());
    if (place.begun) yield encodeResponse('BatchGetDocuments', { transaction: place.begun, readTime });
    for (const [i, doc] of found.entries()) {
      const result = doc ? { found: encodeDoc(doc, mask) } : { missing: paths[i]?.name };
      yield encodeResponse('BatchGetDocuments', { ...result, readTime });
    }
  }

  private async *query({ query, consistency }: Requests['RunQuery'], context: RpcContext): Answer {
    const prepared = this.prepare(query, []);
    const place = this.placeOf(getDatabaseName(query.parent), consistency, context);
    if (place.transaction) place.transaction.active++;
    try {
      await this.enter(place, prepared);
      const readTime = Timestamp.ofMicros(this.store.readTime());
      if (place.begun) yield encodeResponse('RunQuery', { transaction: place.begun, readTime });
      let sent = 0;
      for await (const docs of runQuery(prepared, this.store, place.view)) {
        sent += docs.length;
        for (const doc of docs) yield encodeResponse('RunQuery', { document: encodeDoc(doc, query.select), readTime });
      }
      // The client learns the read time even of an empty result.
      if (sent === 0) yield encodeResponse('RunQuery', { readTime });
    } finally {
      this.leave(place);
    }
  }

  private async aggregate(
    { query, aggregations, consistency }: Requests['RunAggregationQuery'],
    context: RpcContext,
  ): Promise<Buffer> {
    const paths = aggregations.flatMap((aggregation) => (aggregation.kind === 'count' ? [] : [aggregation.path]));
    const prepared = this.prepare(query, paths);
    const place = this.placeOf(getDatabaseName(query.parent), consistency, context);
    return this.during(place, async () => {
      await this.enter(place, prepared);
      const readers = paths.map(createValueReader);
      const figures = aggregations.map(createAggregator);
      for await (const docs of runQuery(prepared, this.store, place.view, false)) {
        for (const doc of docs) {
          // A document without one of the fields has no entry in the index that is added up, so it counts nowhere.
          if (readers.every((read) => read(doc) !== undefined)) for (const figure of figures) figure.add(doc);
        }
      }
      const aggregateFields = Object.fromEntries(
        figures.map((figure, i) => [aggregations[i]?.alias ?? '', encodeValue(figure.result())]),
      );
      return encodeResponse('RunAggregationQuery', {
        result: { aggregateFields },
        readTime: Timestamp.ofMicros(this.store.readTime()),
        ...(place.begun && { transaction: place.begun }),
      });
    });
  }

  private async listDocuments(request: Requests['ListDocuments'], context: RpcContext): Promise<Buffer> {
    const { parent, mask } = request;
    const path = collectionPath(parent, request.collectionId);
    const place = this.placeOf(getDatabaseName(parent), request.consistency, context);
    await this.store.load([path]);
    const names = new Map<string, StoredDoc | undefined>();
    if (request.showMissing) {
      // A document that only its subcollections vouch for.
      for (const below of this.store.descendantCollections(path)) {
        const name = below.split('/', path.split('/').length + 1).join('/');
        if (!names.has(name) && this.store.hasDocuments(below)) names.set(name, undefined);
      }
    }
    for (const docs of this.store.snapshot(path, place.view).runs())
      for (const doc of docs) names.set(getResourceName(doc), doc);
    const after = Buffer.from(request.pageToken, 'base64').toString();
    const sorted = [...names].filter(([name]) => compareNames(name, after) > 0).sort(([a], [b]) => compareNames(a, b));
    const page = request.pageSize > 0 ? sorted.slice(0, request.pageSize) : sorted;
    const documents = page.map(([name, doc]) =>
      doc ? encodeDoc(doc, mask) : encodeDocument({ name, fields: NO_FIELDS }),
    );
    return encodeResponse('ListDocuments', {
      documents,
      nextPageToken: nextToken(sorted.length, page.at(-1)?.[0], page),
    });
  }

  private listCollectionIds({ parent, pageSize, pageToken }: Requests['ListCollectionIds']): Promise<Buffer> {
    const depth = parentPath(parent).split('/').length;
    const ids = new Set<string>();
    for (const path of this.store.descendantCollections(parent)) {
      const id = path.split('/')[depth];
      if (id !== undefined && !ids.has(id) && this.store.hasDocuments(path)) ids.add(id);
    }
    const after = Buffer.from(pageToken, 'base64').toString();
    const sorted = [...ids].filter((id) => compareStrings(id, after) > 0).sort(compareStrings);
    const collectionIds = pageSize > 0 ? sorted.slice(0, pageSize) : sorted;
    const nextPageToken = nextToken(sorted.length, collectionIds.at(-1), collectionIds);
    return Promise.resolve(encodeResponse('ListCollectionIds', { collectionIds, nextPageToken }));
  }

  private async commit(
    { database, writes, transaction: id }: Requests['Commit'],
    context: RpcContext,
  ): Promise<Buffer> {
    const transaction = id === undefined ? undefined : this.transactions.get(id, database, context.peer);
    if (transaction?.view && writes.length > 0) throw invalid('Cannot modify entities in a read-only transaction.');
    if (transaction) {
      transaction.active++;
      transaction.committing = true;
    }
    const owner = transaction?.owner ?? outsider(context);
    try {
      const { time, outcomes } = await this.apply(owner, database, writes, (each) => writes.map(each));
      if (transaction) this.transactions.end(transaction, 'committed');
      return encodeResponse('Commit', {
        writeResults: outcomes.map(writeResult),
        commitTime: Timestamp.ofMicros(time),
      });
    } catch (error) {
      // Whatever refused it, the transaction is over: its locks must not wait for a client that may not come back.
      if (transaction) this.transactions.end(transaction, 'rolled back');
      throw error;
    }
  }

  /** Applies writes, each on its own: one that fails leaves the others alone. */
  private async batchWrite({ database, writes }: Requests['BatchWrite'], context: RpcContext): Promise<Buffer> {
    const names = new Set(writes.map(({ name }) => name));
    if (names.size < writes.length) throw invalid('Cannot write to the same document twice in one BatchWrite request.');
    const { outcomes } = await this.apply(outsider(context), database, writes, (each) =>
      writes.map((write) => {
        try {
          return each(write);
        } catch (error) {
          if (error instanceof RpcError) return error;
          throw error;
        }
      }),
    );
    return encodeResponse('BatchWrite', {
      writeResults: outcomes.map((outcome) => (outcome instanceof RpcError ? {} : writeResult(outcome))),
      status: outcomes.map((outcome) =>
        outcome instanceof RpcError ? { code: outcome.status, message: outcome.message } : {},
      ),
    });
  }

  /**
   * Locks the documents, works out what the writes make of them, waits for the queries of others that this would disturb,
   * and applies it. `plan` calls its argument for each write in turn; a later write sees the earlier ones.
   */
  private async apply<T>(
    owner: LockOwner,
    database: string,
    writes: readonly Write[],
    plan: (each: (write: Write) => WriteResult) => T,
  ): Promise<{ time: number; outcomes: T }> {
    const paths = new Map(writes.map(({ name }) => [name, documentPath(name)]));
    for (const name of paths.keys()) checkDatabase(name, database);
    try {
      await this.store.load(new Set(Array.from(paths.values(), ({ collection }) => collection)));
      await this.locks.write(owner, [...paths.keys()]);
      for (;;) {
        const time = this.store.nextTime();
        const planned = new Map<string, DocumentChange>();
        const outcomes = plan((write) => {
          const path = paths.get(write.name) ?? documentPath(write.name);
          const earlier = planned.get(write.name);
          const old = earlier ? earlier.old : this.store.get(path);
          const outcome = applyWrite(write, path, earlier ? earlier.doc : old, time, this.indexes);
          planned.set(write.name, { collection: path.collection, id: path.id, old, doc: outcome.doc });
          return outcome;
        });
        const changes = [...planned.values()].filter(({ old, doc }) => old !== doc);
        if (owner.ended) throw transactionEndedError();
        if (!this.locks.conflictsWithRanges(owner, changes)) {
          if (changes.length > 0) this.store.apply(changes, time);
          return { time, outcomes };
        }
        await this.locks.untilUndisturbed(owner, changes);
      }
    } finally {
      if (owner.age === OUTSIDE) this.locks.release(owner);
    }
  }

  private prepare(query: StructuredQuery, aggregated: readonly FieldPath[]): PreparedQuery {
    const prepared = prepareQuery(query);
    if (this.demandIndexes) {
      const scope = query.allDescendants ? 'COLLECTION_GROUP' : 'COLLECTION';
      this.indexes.assertIndexed(query.collectionId, scope, query.filter, prepared.orders, aggregated);
    }
    return prepared;
  }

  private placeOf(database: string, consistency: Consistency, context: RpcContext): ReadContext {
    if (consistency.kind === 'latest') {
      return { transaction: undefined, owner: undefined, view: undefined, begun: undefined };
    }
    const fresh = consistency.kind === 'newTransaction';
    const transaction = fresh
      ? this.transactions.begin(database, context.peer, consistency.readOnly, consistency.retryOf)
      : this.transactions.get(consistency.id, database, context.peer);
    if (fresh) context.begun = transaction;
    return {
      transaction,
      owner: transaction.view ? undefined : transaction.owner,
      view: transaction.view,
      begun: fresh ? transactionBytes(transaction.id) : undefined,
    };
  }

  /** Makes ready what a query reads, and locks it if its transaction locks. */
  private async enter(place: ReadContext, query: PreparedQuery): Promise<void> {
    await this.store.load(getQueryCollections(query, this.store));
    if (place.owner) await this.locks.readRange(place.owner, query);
  }

  private async during<T>(place: ReadContext, work: () => Promise<T>): Promise<T> {
    if (place.transaction) place.transaction.active++;
    try {
      return await work();
    } finally {
      this.leave(place);
    }
  }

  private leave({ transaction }: ReadContext): void {
    if (!transaction) return;
    transaction.active--;
    transaction.lastUsedAt = performance.now();
  }
}

/** The age of a write outside of any transaction: older than all, so that it is never the one to be aborted. */
const OUTSIDE = -1;

const outsider = (context: RpcContext): LockOwner => (context.writer = new LockOwner(OUTSIDE));

async function* singleMessage(work: () => Promise<Buffer>): Answer {
  yield await work();
}

function checkDatabase(name: string, database: string): void {
  if (getDatabaseName(name) !== database) throw invalid(`Document "${name}" is not in the database ${database}.`);
}

const encodeDoc = (doc: StoredDoc, mask: Mask): Buffer =>
  encodeDocument({
    name: getResourceName(doc),
    fields: mask ? project(doc.fields, mask) : doc.fields,
    createTime: doc.createTime,
    updateTime: doc.updateTime,
  });

const writeResult = ({ updateTime, transformResults }: WriteResult): object => ({
  ...(updateTime !== undefined && { updateTime: Timestamp.ofMicros(updateTime) }),
  transformResults: transformResults.map(encodeValue),
});

/** The token that continues a listing after the last item of a page, or none at the end. */
const nextToken = (total: number, last: string | undefined, page: readonly unknown[]): string =>
  last !== undefined && page.length < total ? Buffer.from(last).toString('base64') : '';

interface Aggregator {
  add(doc: StoredDoc): void;
  result(): Value;
}

function createAggregator(aggregation: Aggregation): Aggregator {
  if (aggregation.kind === 'count') {
    const limit = aggregation.upTo ?? Infinity;
    let count = 0;
    return { add: () => (count = Math.min(count + 1, limit)), result: () => BigInt(count) };
  }
  const read = createValueReader(aggregation.path);
  let sum: bigint | number = 0n;
  let count = 0;
  return {
    add: (doc) => {
      const value = read(doc);
      if (!isNumber(value)) return;
      sum = sumOf(sum, value);
      count++;
    },
    result: () => (aggregation.kind === 'sum' ? sum : count === 0 ? null : Number(sum) / count),
  };
}

/** Integers add up to an integer as long as it fits 64 bits, and to a double from there on. */
function sumOf(a: bigint | number, b: bigint | number): bigint | number {
  const fits = typeof a !== 'bigint' || typeof b !== 'bigint' || BigInt.asIntN(64, a + b) === a + b;
  return fits ? add(a, b) : Number(a) + Number(b);
}
