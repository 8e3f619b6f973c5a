import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import type { Html } from '../html';
import { PAGE_HEADERS } from '../page-headers';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { addDefaultSort } from './collections';
import { readPage, readSizes } from './data-source';
import { renderCollection, renderDocument, renderFound, renderMessage, renderOverview } from './pages';
import { findDocuments, findRequests, findRequestsOf, readRows } from './price-lists';
import { parseDataUrl } from './urls';
import { createFindLink } from './values';

/** Responds to requests for data pages. This module is loaded at the first request, because it loads the Firestore SDK. */

const NEWEST = 10;

interface Page {
  status: number;
  page: Html;
}

/** Sends the requested page, a page with the error, or an empty 405. */
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
  const { status, page } = await getFirestore()
    .then((firestore) => createPage(firestore, url))
    .catch((error: unknown) => ({ status: 500, page: renderMessage('Not readable', String(error)) }));
  response.writeHead(status, { ...PAGE_HEADERS, 'Content-Type': 'text/html; charset=utf-8' }).end(page.text);
}

async function createPage(firestore: Firestore, url: URL): Promise<Page> {
  const { path, view } = parseDataUrl(url);
  const all = await firestore.listCollections();
  const names = all.map(({ id }) => id);
  const findLink = createFindLink(names);
  const wanted = url.searchParams.get('find')?.trim() ?? '';
  if (path === '' && wanted !== '') {
    const [rows, documents] = await Promise.all([
      findRequests(firestore, wanted),
      findDocuments(firestore, names, wanted),
    ]);
    const page = renderFound(
      wanted,
      rows,
      documents.map((document) => document.path),
      findLink,
    );
    return { status: rows.length + documents.length === 0 ? 404 : 200, page };
  }
  if (path === '') {
    const requests = firestore.collection(collections.priceListRequests);
    const { documents } = await readPage(requests, addDefaultSort(requests.path, {}), NEWEST);
    const rows = await readRows(firestore, documents);
    return { status: 200, page: renderOverview(await readSizes(all), rows, findLink) };
  }
  if (path.split('/').length % 2 === 1) {
    const sorted = addDefaultSort(path, view);
    const found = await readPage(firestore.collection(path), sorted);
    const isRequests = path === collections.priceListRequests;
    const rows = isRequests ? await readRows(firestore, found.documents) : undefined;
    // A top-level collection exists only while it has documents. A subcollection without documents gets an empty page.
    const isKnown = path.includes('/') || names.includes(path);
    return { status: isKnown ? 200 : 404, page: renderCollection(found, sorted, findLink, rows) };
  }
  const reference = firestore.doc(path);
  const [document, subcollections] = await Promise.all([reference.get(), reference.listCollections().then(readSizes)]);
  if (!document.exists && subcollections.length === 0)
    return { status: 404, page: renderMessage('Not found', `There is no document ${path}.`) };
  const rows = await findRequestsOf(firestore, reference);
  return { status: 200, page: renderDocument(document, subcollections, findLink, rows) };
}
