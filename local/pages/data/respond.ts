import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import type { Html } from '../html';
import { PAGE_HEADERS } from '../page-headers';
import { countDocuments, isRefusal, listCollections, readDocument, readPage } from './data-source';
import { renderCollection, renderDocument, renderMessage, renderOverview } from './pages';
import { parseDataUrl } from './urls';
import { createFindLink } from './values';

/** Responds to requests for data pages. It is loaded with the first one, because it loads the Firestore SDK. */

interface Page {
  status: number;
  page: Html;
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
  const { status, page } = await getFirestore()
    .then((firestore) => createPage(firestore, url))
    .catch((error: unknown) => createErrorPage(error));
  response.writeHead(status, { ...PAGE_HEADERS, 'Content-Type': 'text/html; charset=utf-8' });
  response.end(page.text);
}

async function createPage(firestore: Firestore, url: URL): Promise<Page> {
  const { path, view } = parseDataUrl(url);
  const collections = await listCollections(firestore);
  if (path === '') {
    const counts = collections.map(async (collection) => ({
      collection,
      count: await countDocuments(firestore.collection(collection)),
    }));
    return { status: 200, page: renderOverview(await Promise.all(counts)) };
  }
  const findLink = createFindLink(collections);
  if (path.split('/').length % 2 === 1) {
    const found = await readPage(firestore.collection(path), view);
    // A collection exists as long as it has documents; those of a document may be empty.
    const isKnown = path.includes('/') || collections.includes(path);
    return { status: isKnown ? 200 : 404, page: renderCollection(found, view, findLink) };
  }
  const found = await readDocument(firestore, path);
  if (!found.document.exists && found.subcollections.length === 0)
    return { status: 404, page: renderMessage('Not found', `There is no document ${path}.`) };
  return { status: 200, page: renderDocument(found, findLink) };
}

function createErrorPage(error: unknown): Page {
  const message = error instanceof Error ? error.message : String(error);
  return { status: isRefusal(error) ? 400 : 500, page: renderMessage('Not readable', message) };
}
