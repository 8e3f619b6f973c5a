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

/** Applies all writes or none. A commit is synchronous, so no other call runs between its reads and its writes. */
export function commit(
  { database, writes, transaction: id }: Requests['Commit'],
  store: Store,
  transactions: Transactions,
  indexes: Indexes,
): object {
  const located = locateWrites(database, writes);
  if (id !== undefined) transactions.endForCommit(transactions.get(id, database));
  const time = store.nextTime();
  const changes = located.map(({ write, path }): DocumentChange => {
    const old = store.get(path);
    return { collection: path.collection, id: path.id, old, doc: applyWrite(write, path, old, time, indexes) };
  });
  const effective = changes.filter(({ old, doc }) => old !== doc);
  if (effective.length > 0) store.apply(effective, time);
  return { writeResults: changes.map(({ doc }) => toWriteResult(doc)), commitTime: Timestamp.fromMicros(time) };
}

/** A valid write with the path of its document. */
interface LocatedWrite {
  readonly write: Write;
  readonly path: DocumentPath;
}

/** @throws RpcError UNIMPLEMENTED for two writes of one document, and INVALID_ARGUMENT for an invalid write */
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
