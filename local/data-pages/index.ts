import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import type { DataSource } from './data-source';
import type { Html } from './html';
import { renderCollection, renderDocument, renderMessage, renderOverview } from './pages';
import { DATA_ROOT, parseDataUrl } from './urls';
import { createFindLink } from './values';

/** The data pages: what Firestore holds, at `/data` beside the API reference. They exist on this machine only. */

/** Nothing is loaded but the style sheet, and no script runs. */
const POLICY = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'";

const STYLES = 'local/data-pages/data.css';

/** Other host names could lead a page of the web to this server, by a DNS entry for this machine. */
const LOCAL_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/**
 * @param getSource called for each page, so that nothing is loaded before the first
 * @returns the listener of a path of the data pages
 */
export function createDataRoutes(getSource: () => Promise<DataSource>): (path: string) => RequestListener | undefined {
  const listener: RequestListener = (request, response) => {
    respond(getSource, request, response).catch((error: unknown) => {
      send(response, 500, renderMessage('Not readable', error instanceof Error ? error.message : String(error)));
    });
  };
  return (path) =>
    path === DATA_ROOT || path === `${DATA_ROOT}.css` || path.startsWith(`${DATA_ROOT}/`) ? listener : undefined;
}

async function respond(
  getSource: () => Promise<DataSource>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!LOCAL_HOST.test(request.headers.host ?? '')) {
    send(response, 403, renderMessage('Not allowed', 'These pages are served to 127.0.0.1 and localhost only.'));
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    return;
  }
  const url = new URL(request.url ?? '', 'http://127.0.0.1');
  if (url.pathname === `${DATA_ROOT}.css`) {
    const styles = await readFile(resolve(STYLES));
    response.writeHead(200, { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'no-cache' }).end(styles);
    return;
  }
  const { status, page } = await createPage(await getSource(), url);
  send(response, status, page);
}

async function createPage(source: DataSource, url: URL): Promise<{ status: number; page: Html }> {
  const request = parseUrlSafely(url);
  if (request === undefined)
    return { status: 400, page: renderMessage('Not found', 'The address is not well-formed.') };
  const { path, view } = request;
  const collections = await source.listCollections();
  if (path === '') {
    const counts = collections.map(async (collection) => ({
      collection,
      count: await source.countDocuments(collection),
    }));
    return { status: 200, page: renderOverview(await Promise.all(counts)) };
  }
  const findLink = createFindLink(collections);
  if (path.split('/').length % 2 === 1) {
    return { status: 200, page: renderCollection(await source.readCollection(path, view), view, findLink) };
  }
  const found = await source.readDocument(path);
  if (!found.document.exists && found.subcollections.length === 0) {
    return { status: 404, page: renderMessage('Not found', `There is no document ${path}.`) };
  }
  return { status: 200, page: renderDocument(found, findLink) };
}

function parseUrlSafely(url: URL): ReturnType<typeof parseDataUrl> | undefined {
  try {
    return parseDataUrl(url);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, page: Html): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  response.end(page.text);
}
