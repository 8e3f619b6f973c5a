import type { Query, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import type { Database } from '../../functions/src/lib/firestore/database';
import { retry } from '../../functions/src/lib/firestore/retry';
import type { WorkContext } from '../../functions/src/lib/work-context';

/** Default number of documents in a page. A completed key record can take 140 kB, so a page can take 14 MB. */
const PAGE_SIZE = 100;

/** Yields the documents of a query in pages. Reads each page in one call, which is repeated after a transient error. */
export async function* readPages(
  db: Database,
  context: WorkContext,
  query: Query,
  size = PAGE_SIZE,
): AsyncGenerator<QueryDocumentSnapshot[], undefined> {
  for (let last: QueryDocumentSnapshot | undefined; ;) {
    const page = (last === undefined ? query : query.startAfter(last)).limit(size);
    const { docs } = await retry(() => db.get(page), context, 'outage');
    yield docs;
    last = docs.at(-1);
    if (docs.length < size) return;
  }
}

/** Returns how many document reads Firestore bills for a page. A query that finds nothing costs one. */
export const billPage = (page: readonly unknown[]): number => Math.max(1, page.length);
