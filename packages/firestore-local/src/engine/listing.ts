import { getResourceName, type StoredDoc } from '../storage/collections';
import { invalid, unsupported } from '../protocol/errors';
import { parseCollectionPath, parseParentPath } from '../protocol/paths';
import type { Requests } from '../protocol/requests';
import type { Store } from '../storage/store';
import { compareNames, compareStrings } from '../protocol/values';

/* Listings of documents and of collections, page by page. */

/** The number of documents on a page if the request does not set it. */
const DEFAULT_PAGE_SIZE = 30;

/** A page of a listing: documents by name. A document that does not exist but has subcollections is undefined. */
interface DocumentPage {
  readonly documents: readonly (readonly [name: string, doc: StoredDoc | undefined])[];
  /** Undefined at the end. */
  readonly nextPageToken: string | undefined;
}

/** Lists the documents of a collection, now or at a read time in microseconds. */
export function listDocuments(
  request: Requests['ListDocuments'],
  store: Store,
  readTime: number | undefined,
): DocumentPage {
  if (request.collectionId === '') throw unsupported('Listing of documents without a collection');
  if (request.orderBy !== '') throw unsupported('Listing of documents in another order than that of their names');
  const path = parseCollectionPath(request.parent, request.collectionId);
  const docs = new Map<string, StoredDoc | undefined>();
  if (request.showMissing) {
    for (const below of store.descendantCollections(path)) {
      if (store.hasDocuments(below)) docs.set(below.split('/', path.split('/').length + 1).join('/'), undefined);
    }
  }
  for (const batch of store.snapshot(path, readTime).batches()) {
    for (const doc of batch) docs.set(getResourceName(doc), doc);
  }
  const after = readToken(request.pageToken);
  if (after !== '' && !after.startsWith(`${path}/`)) throw invalid('invalid page token');
  const names = [...docs.keys()].sort(compareNames);
  const { items, nextPageToken } = getPage(names, compareNames, after, getPageSize(request) || DEFAULT_PAGE_SIZE);
  return { documents: items.map((name) => [name, docs.get(name)]), nextPageToken };
}

/** Lists the ids of the collections directly below a document or the root. */
export function listCollectionIds(request: Requests['ListCollectionIds'], store: Store): object {
  const depth = parseParentPath(request.parent).split('/').length;
  const ids = new Set<string>();
  for (const path of store.descendantCollections(request.parent)) {
    const id = path.split('/')[depth];
    if (id !== undefined && !ids.has(id) && store.hasDocuments(path)) ids.add(id);
  }
  const after = readToken(request.pageToken);
  const size = getPageSize(request) || Infinity;
  const { items, nextPageToken } = getPage([...ids].sort(compareStrings), compareStrings, after, size);
  return { collectionIds: items, nextPageToken };
}

function getPageSize({ pageSize }: { readonly pageSize: number }): number {
  if (pageSize < 0) throw invalid('Page size must be nonnegative.');
  return pageSize;
}

/** Decodes a page token, which is the last name of the previous page in base64. */
function readToken(pageToken: string): string {
  const bytes = Buffer.from(pageToken, 'base64');
  if (bytes.toString('base64') !== pageToken) throw invalid('invalid page token');
  return bytes.toString();
}

/** Returns one page of sorted names. As in Google's emulator, a full page has a token even if nothing follows. */
function getPage(
  sorted: readonly string[],
  compare: (a: string, b: string) => number,
  after: string,
  size: number,
): { items: string[]; nextPageToken: string | undefined } {
  const items = sorted.filter((name) => compare(name, after) > 0).slice(0, size);
  const last = items.length === size ? items.at(-1) : undefined;
  return { items, nextPageToken: last && Buffer.from(last).toString('base64') };
}
