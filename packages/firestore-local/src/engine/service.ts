import { Commits } from './commits';
import type { Indexes } from './indexes';
import { listCollectionIds } from './listing';
import type { Locks } from './locks';
import { encodeTransactionId } from '../protocol/message-readers';
import { Reads, type SendMessage } from './reads';
import type { Requests, Rpc } from '../protocol/requests';
import type { CallContext } from '../protocol/calls';
import type { Store } from '../storage/store';
import type { Transactions } from './transactions';

type Handlers = {
  readonly [K in Rpc]: (request: Requests[K], send: SendMessage, context: CallContext) => Promise<void>;
};

/** The operations of google.firestore.v1.Firestore, from decoded requests to response messages. */
export class Service {
  private readonly reads: Reads;
  private readonly commits: Commits;

  constructor(
    private readonly store: Store,
    locks: Locks,
    private readonly transactions: Transactions,
    indexes: Indexes,
    requireIndexes: boolean,
  ) {
    this.reads = new Reads(store, locks, transactions, indexes, requireIndexes);
    this.commits = new Commits(store, locks, transactions, indexes);
  }

  /** @throws RpcError for every status other than OK */
  respond<K extends Rpc>(rpc: K, request: Requests[K], send: SendMessage, context: CallContext): Promise<void> {
    return this.handlers[rpc](request, send, context);
  }

  private readonly handlers: Handlers = {
    BatchGetDocuments: (request, send, context) => this.reads.batchGet(request, send, context),
    ListDocuments: async (request, send, context) => send(await this.reads.listDocuments(request, context)),
    ListCollectionIds: async (request, send) => send(listCollectionIds(request, this.store)),
    RunQuery: (request, send, context) => this.reads.query(request, send, context),
    RunAggregationQuery: async (request, send, context) => send(await this.reads.aggregate(request, context)),
    Commit: async (request, send, context) => send(await this.commits.commit(request, context)),
    BatchWrite: async (request, send, context) => send(await this.commits.batchWrite(request, context)),
    BeginTransaction: async ({ database, options }, send, context) => {
      const transaction = this.transactions.begin(database, options, context);
      await send({ transaction: encodeTransactionId(transaction.id) });
    },
    Rollback: async ({ database, transaction }, send) => {
      this.transactions.rollBack(transaction, database);
      await send({});
    },
  };
}
