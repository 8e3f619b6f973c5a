import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import type { Html } from '../html';
import { PAGE_HEADERS } from '../page-headers';
import { collections as serviceCollections } from '../../../functions/src/lib/firestore/collections';
import { addDefaultSort } from './collections';
import { countDocuments, isRefusal, listCollections, readDocument, readPage } from './data-source';
import { renderCollection, renderDocument, renderFound, renderMessage, renderOverview } from './pages';
import { findDocuments, findRequests, findRequestsOf, readRows } from './price-lists';
import { parseDataUrl, toDataUrl } from './urls';
import { createFindLink, type FindLink } from './values';

/** Responds to requests for data pages. It is loaded with the first one, because it loads the Firestore SDK. */

/** The number of requests on the overview. */
const NEWEST = 10;

interface Page {
  status: number;
  page: Html;
  /** The address to go to instead. */
  location?: string;
}

/** Sends the requested page, or a page with the error. */
export async function respond(
  getFirestore: () => Promise<Firestore>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...PAGE_HEADERS, Allow: 'GET, HEAD' }).end();
    return;
  }
  const url = new URL(request.url ?? '', 'http://127.0.0.1');
  const { status, page, location } = await getFirestore()
    .then((firestore) => createPage(firestore, url))
    .catch((error: unknown) => createErrorPage(error));
  const headers = { ...PAGE_HEADERS, 'Content-Type': 'text/html; charset=utf-8' };
  response.writeHead(status, location === undefined ? headers : { ...headers, Location: location });
  response.end(page.text);
}

async function createPage(firestore: Firestore, url: URL): Promise<Page> {
  const { path, view } = parseDataUrl(url);
  const collections = await listCollections(firestore);
  const findLink = createFindLink(collections);
  const wanted = url.searchParams.get('find')?.trim() ?? '';
  if (path === '' && wanted !== '') return createFoundPage(firestore, collections, wanted, findLink);
  if (path === '') {
    const counts = collections.map(async (collection) => ({
      collection,
      count: await countDocuments(firestore.collection(collection)),
    }));
    const newest = await readPage(
      firestore.collection(serviceCollections.priceListRequests),
      addDefaultSort(serviceCollections.priceListRequests, {}),
      NEWEST,
    );
    const rows = await readRows(firestore, newest.documents);
    return { status: 200, page: renderOverview(await Promise.all(counts), rows, findLink) };
  }
  if (path.split('/').length % 2 === 1) {
    const sorted = addDefaultSort(path, view);
    const found = await readPage(firestore.collection(path), sorted);
    const isRequests = path === serviceCollections.priceListRequests;
    const rows = isRequests ? await readRows(firestore, found.documents) : undefined;
    // A collection exists as long as it has documents; those of a document may be empty.
    const isKnown = path.includes('/') || collections.includes(path);
    return { status: isKnown ? 200 : 404, page: renderCollection(found, sorted, findLink, rows) };
  }
  const found = await readDocument(firestore, path);
  if (!found.document.exists && found.subcollections.length === 0)
    return { status: 404, page: renderMessage('Not found', `There is no document ${path}.`) };
  return { status: 200, page: renderDocument(found, findLink, await findRequestsOf(firestore, found.document.ref)) };
}

/** Shows what an id leads to. An id of one document alone leads to its page. */
async function createFoundPage(
  firestore: Firestore,
  collections: readonly string[],
  id: string,
  findLink: FindLink,
): Promise<Page> {
  const [rows, documents] = await Promise.all([findRequests(firestore, id), findDocuments(firestore, collections, id)]);
  const paths = documents.map(({ path }) => path);
  const page = renderFound(id, rows, paths, findLink);
  const [only] = paths;
  if (rows.length === 0 && paths.length === 1 && only !== undefined)
    return { status: 302, page, location: toDataUrl(only) };
  return { status: rows.length + paths.length === 0 ? 404 : 200, page };
}

function createErrorPage(error: unknown): Page {
  const message = error instanceof Error ? error.message : String(error);
  return { status: isRefusal(error) ? 400 : 500, page: renderMessage('Not readable', message) };
}
