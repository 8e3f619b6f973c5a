import type { DocumentChange } from '../storage/collections';
import { RpcError, invalid } from '../protocol/errors';
import type { Indexes } from './indexes';
import { assertInDatabase, parseDocumentPath, type DocumentPath } from '../protocol/paths';
import type { Requests, Write } from '../protocol/requests';
import type { Store } from '../storage/store';
import type { Transactions } from './transactions';
import { Timestamp } from '../protocol/values';
import { assertWrite } from './write-rules';
import { applyWrite, type WriteResult } from './writes';

/** The operations that write documents. They wait for nothing, so no other call comes between their reads and their writes. */
export class Commits {
  constructor(
    private readonly store: Store,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
  ) {}

  commit({ database, writes, transaction: id }: Requests['Commit']): object {
    const located = locateWrites(database, writes);
    const transaction = id === undefined ? undefined : this.transactions.get(id, database);
    if (transaction?.readTime !== undefined && writes.length > 0) {
      throw invalid('Cannot modify entities in a read-only transaction.');
    }
    if (transaction) this.transactions.endForCommit(transaction);
    const { time, results } = this.apply(located);
    return { writeResults: results.map(toWriteResult), commitTime: Timestamp.fromMicros(time) };
  }

  /** Applies each write separately, so a write that fails does not affect the others. */
  batchWrite({ database, writes }: Requests['BatchWrite']): object {
    const names = new Set(writes.map(({ name }) => name));
    if (names.size < writes.length) throw invalid('Cannot write to the same document twice in one BatchWrite request.');
    const response = { writeResults: [] as object[], status: [] as object[] };
    for (const located of locateWrites(database, writes)) {
      try {
        response.writeResults.push(...this.apply([located]).results.map(toWriteResult));
        response.status.push({});
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        response.writeResults.push({});
        response.status.push({ code: error.status, message: error.message });
      }
    }
    return response;
  }

  /** Computes the results of the writes in order, and applies the changes, all or none. */
  private apply(writes: readonly LocatedWrite[]): { time: number; results: WriteResult[] } {
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
    if (changes.length > 0) this.store.apply(changes, time);
    return { time, results };
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

const toWriteResult = ({ updateTime }: WriteResult): object =>
  updateTime === undefined ? {} : { updateTime: Timestamp.fromMicros(updateTime) };
