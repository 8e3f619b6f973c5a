import { unsupported } from '../protocol/errors';
import { parseParentPath } from '../protocol/paths';
import type { Requests } from '../protocol/requests';
import type { Store } from '../storage/store';
import { compareStrings } from '../protocol/values';

/** Lists the ids of the collections directly below a document or the root. */
export function listCollectionIds({ parent, pageSize }: Requests['ListCollectionIds'], store: Store): object {
  const depth = parseParentPath(parent).split('/').length;
  const ids = new Set<string>();
  for (const path of store.descendantCollections(parent)) {
    const id = path.split('/')[depth];
    if (id !== undefined && !ids.has(id) && store.hasDocuments(path)) ids.add(id);
  }
  if (pageSize > 0 && ids.size >= pageSize) throw unsupported('A list of collections in several pages');
  return { collectionIds: [...ids].sort(compareStrings) };
}
