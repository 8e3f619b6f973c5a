import type { DocumentChange } from '../storage/collections';
import { RpcError, invalid } from '../protocol/errors';
import type { Indexes } from './indexes';
import { LockOwner, transactionEndedError, type Locks } from './locks';
import { assertInDatabase, parseDocumentPath, type DocumentPath } from '../protocol/paths';
import type { Requests, Write } from '../protocol/requests';
import type { CallContext } from '../protocol/calls';
import type { Store } from '../storage/store';
import type { Transactions } from './transactions';
import { Timestamp } from '../protocol/values';
import { assertWrite } from './write-rules';
import { applyWrite, type WriteResult } from './writes';

/** The age of a write outside of any transaction. It is the oldest, so it is never aborted. */
const OUTSIDE = -1;

/** The operations that write documents, in a transaction or with locks of their own. */
export class Commits {
  constructor(
    private readonly store: Store,
    private readonly locks: Locks,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
  ) {}

  async commit({ database, writes, transaction: id }: Requests['Commit'], context: CallContext): Promise<object> {
    const located = locateWrites(database, writes);
    const transaction = id === undefined ? undefined : this.transactions.get(id, database, context.peer);
    if (transaction?.readTime !== undefined && writes.length > 0) {
      throw invalid('Cannot modify entities in a read-only transaction.');
    }
    if (transaction) {
      transaction.active++;
      transaction.committing = true;
    }
    try {
      const { time, results } = await this.apply(transaction?.owner ?? this.createWriter(context), located);
      return { writeResults: results.map(toWriteResult), commitTime: Timestamp.fromMicros(time) };
    } finally {
      // A failed commit also ends the transaction, so that its locks do not wait for a client that may not return.
      if (transaction) this.transactions.end(transaction);
    }
  }

  /** Applies each write separately, so a write that fails does not affect the others. */
  async batchWrite({ database, writes }: Requests['BatchWrite'], context: CallContext): Promise<object> {
    const names = new Set(writes.map(({ name }) => name));
    if (names.size < writes.length) throw invalid('Cannot write to the same document twice in one BatchWrite request.');
    const response = { writeResults: [] as object[], status: [] as object[] };
    for (const located of locateWrites(database, writes)) {
      try {
        const { results } = await this.apply(this.createWriter(context), [located]);
        response.writeResults.push(...results.map(toWriteResult));
        response.status.push({});
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        response.writeResults.push({});
        response.status.push({ code: error.status, message: error.message });
      }
    }
    return response;
  }

  /** Creates the owner of a write outside of any transaction. It is released if the client leaves while the write waits. */
  private createWriter(context: CallContext): LockOwner {
    const writer = new LockOwner(OUTSIDE);
    context.cancel = () => this.locks.release(writer);
    return writer;
  }

  /**
   * Locks the documents and computes the results of the writes in order. Then waits for conflicting queries of other
   * transactions, and applies the changes.
   */
  private async apply(
    owner: LockOwner,
    writes: readonly LocatedWrite[],
  ): Promise<{ time: number; results: WriteResult[] }> {
    try {
      await this.locks.write(owner, [...new Set(writes.map(({ path }) => path.name))]);
      for (;;) {
        const time = this.store.nextTime();
        const planned = new Map<string, DocumentChange>();
        const results = writes.map(({ write, path }) => {
          const earlier = planned.get(path.name);
          const old = earlier ? earlier.old : this.store.get(path);
          const result = applyWrite(write, path, earlier ? earlier.doc : old, time, this.indexes);
          planned.set(path.name, { collection: path.collection, id: path.id, old, doc: result.doc });
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
}

/** A valid write with the place of its document. */
interface LocatedWrite {
  readonly write: Write;
  readonly path: DocumentPath;
}

/** @throws RpcError INVALID_ARGUMENT for a write to another database, or one that Firestore always refuses */
function locateWrites(database: string, writes: readonly Write[]): LocatedWrite[] {
  return writes.map((write) => {
    const path = parseDocumentPath(write.name);
    assertInDatabase(path, database);
    assertWrite(write);
    return { write, path };
  });
}

const toWriteResult = ({ updateTime, transformResults }: WriteResult): object => ({
  ...(updateTime !== undefined && { updateTime: Timestamp.fromMicros(updateTime) }),
  transformResults,
});
