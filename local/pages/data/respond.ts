import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import {
  createDataSource,
  isRefusal,
  type CollectionPage,
  type CollectionView,
  type DataSource,
  type DocumentPage,
} from './data-source';
import type { Html } from '../html';
import { PAGE_HEADERS } from '../page-headers';
import { renderCollection, renderDocument, renderMessage, renderOverview } from './pages';
import type { ViewerSettings } from './settings';
import { parseDataUrl } from './urls';
import { createFindLink } from './values';

/** Responds to requests for data pages. It is loaded with the first one, because it loads the Firestore SDK. */

/** Sends the requested page, or a page with the error. */
export async function respond(
  getFirestore: () => Promise<Firestore>,
  settings: ViewerSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await respondFrom(getFirestore, settings, request, response);
  } catch (error) {
    send(response, 500, renderMessage('Not readable', getMessage(error), settings));
  }
}

async function respondFrom(
  getFirestore: () => Promise<Firestore>,
  settings: ViewerSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...PAGE_HEADERS, Allow: 'GET, HEAD' }).end();
    return;
  }
  const url = new URL(request.url ?? '', 'http://127.0.0.1');
  const { status, page } = await createPage(createDataSource(await getFirestore()), url, settings);
  send(response, status, page);
}

async function createPage(
  source: DataSource,
  url: URL,
  settings: ViewerSettings,
): Promise<{ status: number; page: Html }> {
  const request = parseUrlSafely(url);
  if (request === undefined)
    return { status: 400, page: renderMessage('Not found', 'The address is not well-formed.', settings) };
  const { path, view } = request;
  const collections = await source.listCollections();
  if (path === '') {
    const counts = collections.map(async (collection) => ({
      collection,
      count: await source.countDocuments(collection),
    }));
    return { status: 200, page: renderOverview(await Promise.all(counts), settings) };
  }
  const found = await readPath(source, path, view).catch((error: unknown) => {
    if (isRefusal(error)) return getMessage(error);
    throw error;
  });
  if (typeof found === 'string') return { status: 400, page: renderMessage('Not readable', found, settings, path) };
  const findLink = createFindLink(collections, settings.linkedCollections);
  if ('documents' in found) {
    // A collection exists as long as it has documents; those of a document may be empty.
    const isKnown = path.includes('/') || collections.includes(path);
    return { status: isKnown ? 200 : 404, page: renderCollection(found, view, findLink, settings) };
  }
  if (!found.document.exists && found.subcollections.length === 0) {
    return { status: 404, page: renderMessage('Not found', `There is no document ${path}.`, settings) };
  }
  return { status: 200, page: renderDocument(found, findLink, settings) };
}

/** An async function, because the client throws for some paths before it reads. */
const readPath = async (
  source: DataSource,
  path: string,
  view: CollectionView,
): Promise<CollectionPage | DocumentPage> =>
  path.split('/').length % 2 === 1 ? source.readCollection(path, view) : source.readDocument(path);

const getMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function parseUrlSafely(url: URL): ReturnType<typeof parseDataUrl> | undefined {
  try {
    return parseDataUrl(url);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, page: Html): void {
  response.writeHead(status, { ...PAGE_HEADERS, 'Content-Type': 'text/html; charset=utf-8' });
  response.end(page.text);
}
