import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import type { Html } from '../html';
import { PAGE_HEADERS } from '../page-headers';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { isDocumentId } from '../../../functions/src/lib/document-id';
import { ATTEMPT_COLLECTIONS } from '../../../command/records/find';
import { renderCollection, renderDocument, renderFound, renderMessage, renderOverview } from './pages';
import { findDocuments, findRequests, readDocuments, readNewestRequests, readSizes } from './records';

/** Responds to requests for data pages. This module is loaded at the first request, because it loads the Firestore SDK. */

interface Page {
  status: number;
  page: Html;
}

/** The collections whose documents belong to a request. */
const OF_REQUESTS: readonly string[] = [collections.priceListIdempotency, ...ATTEMPT_COLLECTIONS];

const NOT_FOUND: Page = { status: 404, page: renderMessage('Not found', 'There is no such document or collection.') };

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

function createPage(firestore: Firestore, { pathname, searchParams }: URL): Page | Promise<Page> {
  const path = parsePath(pathname);
  const wanted = searchParams.get('find')?.trim() ?? '';
  if (path === undefined) return NOT_FOUND;
  if (path.length === 0) return wanted === '' ? createOverview(firestore) : find(firestore, wanted);
  return path.length % 2 === 1
    ? createCollection(firestore, path.join('/'))
    : createDocument(firestore, path.join('/'));
}

/** @returns the collections and ids of a Firestore path; undefined if a part of it is not a valid id */
function parsePath(pathname: string): string[] | undefined {
  try {
    const [, ...segments] = pathname.slice(1).split('/').map(decodeURIComponent);
    const path = segments.at(-1) === '' ? segments.slice(0, -1) : segments;
    return path.every(isDocumentId) ? path : undefined;
  } catch {
    return undefined;
  }
}

async function createOverview(firestore: Firestore): Promise<Page> {
  const sizes = await readSizes(await firestore.listCollections());
  return { status: 200, page: renderOverview(sizes, await readNewestRequests(firestore, 10)) };
}

async function find(firestore: Firestore, id: string): Promise<Page> {
  const [requests, paths] = await Promise.all([findRequests(firestore, id), findDocuments(firestore, id)]);
  return { status: requests.length + paths.length === 0 ? 404 : 200, page: renderFound(id, requests, paths) };
}

async function createCollection(firestore: Firestore, path: string): Promise<Page> {
  const { count, documents } = await readDocuments(firestore.collection(path));
  // Firestore has no empty collections, so a collection with the count 0 is unknown.
  if (count === 0) return NOT_FOUND;
  const requests = path === collections.priceListRequests ? await readNewestRequests(firestore) : undefined;
  return { status: 200, page: renderCollection(path, count, documents, requests) };
}

async function createDocument(firestore: Firestore, path: string): Promise<Page> {
  const reference = firestore.doc(path);
  const [document, subcollections] = await Promise.all([reference.get(), reference.listCollections().then(readSizes)]);
  if (!document.exists && subcollections.length === 0) return NOT_FOUND;
  const requests = OF_REQUESTS.includes(reference.parent.path) ? await findRequests(firestore, path) : [];
  return { status: 200, page: renderDocument(document, subcollections, requests) };
}
