import type { DocumentChange, StoredDoc } from '../storage/collections';
import { unsupported } from '../protocol/errors';
import type { Indexes } from './indexes';
import { assertInDatabase, parseDocumentPath, type DocumentPath } from '../protocol/paths';
import type { Requests, Write } from '../protocol/requests';
import type { Store } from '../storage/store';
import type { Transactions } from './transactions';
import { Timestamp } from '../protocol/values';
import { assertWrite } from './write-rules';
import { applyWrite } from './writes';

/** Writes documents. A commit is synchronous, so no other call runs between its reads and its writes. */
export class Commits {
  constructor(
    private readonly store: Store,
    private readonly transactions: Transactions,
    private readonly indexes: Indexes,
  ) {}

  commit({ database, writes, transaction: id }: Requests['Commit']): object {
    const located = locateWrites(database, writes);
    const transaction = id === undefined ? undefined : this.transactions.get(id, database);
    if (transaction) this.transactions.endForCommit(transaction);
    const { time, results } = this.apply(located);
    return { writeResults: results, commitTime: Timestamp.fromMicros(time) };
  }

  /** Computes the changes of the writes, and applies all or none. */
  private apply(writes: readonly LocatedWrite[]): { time: number; results: object[] } {
    const time = this.store.nextTime();
    const changes = writes.map(({ write, path }): DocumentChange => {
      const old = this.store.get(path);
      return { collection: path.collection, id: path.id, old, doc: applyWrite(write, path, old, time, this.indexes) };
    });
    const effective = changes.filter(({ old, doc }) => old !== doc);
    if (effective.length > 0) this.store.apply(effective, time);
    return { time, results: changes.map(({ doc }) => toWriteResult(doc)) };
  }
}

/** A valid write with the path of its document. */
interface LocatedWrite {
  readonly write: Write;
  readonly path: DocumentPath;
}

/** @throws RpcError UNIMPLEMENTED for two writes of one document, INVALID_ARGUMENT for a write that Firestore always refuses */
function locateWrites(database: string, writes: readonly Write[]): LocatedWrite[] {
  if (new Set(writes.map(({ name }) => name)).size < writes.length) throw unsupported('Several writes of one document');
  return writes.map((write) => {
    const path = parseDocumentPath(write.name);
    assertInDatabase(path, database);
    assertWrite(write);
    return { write, path };
  });
}

const toWriteResult = (doc: StoredDoc | undefined): object =>
  doc ? { updateTime: Timestamp.fromMicros(doc.updateTime) } : {};
