import type { DocumentSnapshot } from 'firebase-admin/firestore';
import type { Database } from '../../functions/src/lib/firestore/database';
import { entriesCollection, type ListIds, type ListKind } from '../../functions/src/lib/repositories/lists';
import { CALL_TIMEOUTS_MS } from '../../functions/src/lib/time-limits';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { retry } from '../../functions/src/lib/firestore/retry';
import { readPages } from './pages';

/** Reads the stored entries of a list. */

const ENTRIES_PER_CALL = 500;

export const countEntries = (db: Database, kind: ListKind, lists: ListIds): Promise<number> =>
  db.count(entriesCollection(db, kind, lists), CALL_TIMEOUTS_MS.query);

/** Yields all entries of a list in pages, in Firestore's order of ids: that of their UTF-8 bytes. */
export const readAllEntries = (db: Database, context: WorkContext, kind: ListKind, lists: ListIds) =>
  readPages(db, context, entriesCollection(db, kind, lists).orderBy('__name__'), ENTRIES_PER_CALL);

/** Yields the entries of the given products in pages. Omits products without an entry. */
export async function* readEntries(
  db: Database,
  context: WorkContext,
  kind: ListKind,
  lists: ListIds,
  ids: readonly string[],
): AsyncGenerator<DocumentSnapshot[], undefined> {
  const collection = entriesCollection(db, kind, lists);
  for (let start = 0; start < ids.length; start += ENTRIES_PER_CALL) {
    const references = ids.slice(start, start + ENTRIES_PER_CALL).map((id) => collection.doc(id));
    const entries = await retry(() => db.getAll(...references), context, 'outage');
    yield entries.filter(({ exists }) => exists);
  }
}
