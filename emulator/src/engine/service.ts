import { commit } from './commits';
import type { Indexes } from './indexes';
import { unsupported } from '../protocol/errors';
import { encodeTransactionId } from '../protocol/message-readers';
import { parseParentPath } from '../protocol/paths';
import { compareStrings } from '../protocol/values';
import { Reads, type SendMessage } from './reads';
import type { Requests, Rpc } from '../protocol/requests';
import type { Store } from '../storage/store';
import type { Transactions } from './transactions';

type Handlers = {
  readonly [K in Rpc]: (request: Requests[K], send: SendMessage) => Promise<void> | undefined;
};

/** The operations of google.firestore.v1.Firestore, from decoded requests to response messages. */
export class Service {
  private readonly reads: Reads;

  constructor(
    private readonly store: Store,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
    requireIndexes: boolean,
  ) {
    this.reads = new Reads(store, transactions, indexes, requireIndexes);
  }

  /** @throws RpcError for a status other than OK, and what `send` throws. The client gets any other error as DATA_LOSS. */
  async respond<K extends Rpc>(rpc: K, request: Requests[K], send: SendMessage): Promise<void> {
    await this.handlers[rpc](request, send);
  }

  private readonly handlers: Handlers = {
    BatchGetDocuments: (request, send) => this.reads.batchGet(request, send),
    ListCollectionIds: (request, send) => send(listCollectionIds(request, this.store)),
    RunQuery: (request, send) => this.reads.query(request, send),
    RunAggregationQuery: (request, send) => this.reads.count(request, send),
    Commit: (request, send) => send(commit(request, this.store, this.transactions, this.indexes)),
    BeginTransaction: ({ database }, send) =>
      send({ transaction: encodeTransactionId(this.transactions.begin(database).id) }),
    Rollback: ({ transaction }, send) => {
      this.transactions.rollBack(transaction);
      return send({});
    },
  };
}

/** Lists the ids of the collections that are directly below a document or the root, and that have documents at any depth. */
function listCollectionIds({ parent, pageSize }: Requests['ListCollectionIds'], store: Store): object {
  const depth = parseParentPath(parent).split('/').length;
  const ids = new Set<string>();
  for (const path of store.descendantCollections(parent)) {
    const id = path.split('/')[depth];
    if (id !== undefined && !ids.has(id) && store.hasDocuments(path)) ids.add(id);
  }
  if (pageSize > 0 && ids.size >= pageSize) throw unsupported('A list of collections in several pages');
  return { collectionIds: [...ids].sort(compareStrings) };
}
