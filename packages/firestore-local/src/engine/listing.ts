import { invalid } from '../protocol/errors';
import { parseParentPath } from '../protocol/paths';
import type { Requests } from '../protocol/requests';
import type { Store } from '../storage/store';
import { compareStrings } from '../protocol/values';

/** Lists the ids of the collections directly below a document or the root. As in Google's emulator, a full page has a token. */
export function listCollectionIds(
  { parent, pageSize, pageToken }: Requests['ListCollectionIds'],
  store: Store,
): object {
  const depth = parseParentPath(parent).split('/').length;
  const ids = new Set<string>();
  for (const path of store.descendantCollections(parent)) {
    const id = path.split('/')[depth];
    if (id !== undefined && !ids.has(id) && store.hasDocuments(path)) ids.add(id);
  }
  if (pageSize < 0) throw invalid('Page size must be nonnegative.');
  const after = readToken(pageToken);
  const following = [...ids].sort(compareStrings).filter((id) => compareStrings(id, after) > 0);
  const collectionIds = following.slice(0, pageSize || Infinity);
  const last = collectionIds.length === pageSize ? collectionIds.at(-1) : undefined;
  return { collectionIds, nextPageToken: last && Buffer.from(last).toString('base64') };
}

/** Decodes a page token, which is the last id of the previous page in base64. */
function readToken(pageToken: string): string {
  const bytes = Buffer.from(pageToken, 'base64');
  if (bytes.toString('base64') !== pageToken) throw invalid('invalid page token');
  return bytes.toString();
}
