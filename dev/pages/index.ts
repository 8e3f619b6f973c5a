import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { findGuide } from './guides';
import { html, type Content, type Html } from './html';
import { PAGE_HEADERS, formatPolicy } from './page-headers';
import type { GetRoute, Route } from './route';
import { renderShell } from './shell';

/** Serves the pages of `npm start` except the data pages: the API reference at `/`, and documents and what they link to at their paths. */

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** The files that the pages load, by the paths of the requests. */
const FILES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ['/openapi.json', ['docs/openapi.json', 'application/json; charset=utf-8']],
  ['/pages/reference.mjs', ['dev/pages/browser/reference.mjs', SCRIPT]],
  ['/pages/pages.css', ['dev/pages/browser/pages.css', CSS]],
  ['/pages/diagrams.mjs', ['dev/pages/browser/diagrams.mjs', SCRIPT]],
  ['/pages/mermaid.js', ['node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js', SCRIPT]],
  ['/pages/swagger-ui.css', ['node_modules/swagger-ui-dist/swagger-ui.css', CSS]],
  ['/pages/swagger-ui-bundle.js', ['node_modules/swagger-ui-dist/swagger-ui-bundle.js', SCRIPT]],
] as const);

/**
 * Creates the listeners of the API reference, the documents, what they link to, and the files that pages load.
 *
 * @param apiKey the API key that the reference fills in, unless it is empty
 * @returns a function that returns the listener for a path, or undefined if the path has none
 */
export function createPageRoutes(apiKey: string): GetRoute {
  return (path) => {
    if (path === '/') return createListener(() => renderReference(apiKey), SCRIPTED_POLICY);
    const file = FILES.get(path);
    if (file !== undefined) {
      const [name, type] = file;
      return onlyReads(async (_, response) => send(response, 200, type, await readFile(resolve(name))));
    }
    const name = decodePath(path)
      ?.slice(1)
      .replace(/(?<!\/)\/+$/, '');
    const guide = name === undefined ? undefined : findGuide(name);
    if (guide === undefined) return undefined;
    if (path.endsWith('/')) return onlyReads((_, response) => redirect(response, `/${name}`));
    if (typeof guide === 'string') return onlyReads((_, response) => redirect(response, `/${guide}`));
    const { title, body, hasDiagram } = guide;
    const head = hasDiagram ? DIAGRAM_SCRIPTS : undefined;
    return createListener(
      () => renderShell({ title, section: 'Guides', head, body }),
      hasDiagram ? SCRIPTED_POLICY : undefined,
    );
  };
}

/** Allows scripts of this server only, and the inline styles that Swagger UI and the diagrams set. */
const SCRIPTED_POLICY = formatPolicy({
  'default-src': "'none'",
  'script-src': "'self'",
  'connect-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
});

const DIAGRAM_SCRIPTS = html`<script src="/pages/mermaid.js" defer></script>
  <script type="module" src="/pages/diagrams.mjs"></script>`;

/** Renders docs/openapi.json in Swagger UI, where you can try each operation. */
const renderReference = (apiKey: string): Html =>
  renderShell({
    title: 'API reference',
    section: 'API reference',
    head: html`<link rel="stylesheet" href="/pages/swagger-ui.css" />
      <script src="/pages/swagger-ui-bundle.js" defer></script>
      <script type="module" src="/pages/reference.mjs"></script>`,
    // Not a main element, because Swagger UI has one of its own.
    body: html`<div id="content" data-api-key="${apiKey}"></div>`,
  });

const createListener = (render: () => Content, policy?: string): Route =>
  onlyReads((_, response) => send(response, 200, HTML, html`${render()}`.text, policy));

function onlyReads(listener: Route): Route {
  return async (request, response) => {
    if (request.method === 'GET' || request.method === 'HEAD') await listener(request, response);
    else response.writeHead(405, { ...PAGE_HEADERS, Allow: 'GET, HEAD' }).end();
  };
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

const redirect = (response: ServerResponse, location: string): void =>
  void response.writeHead(302, { ...PAGE_HEADERS, Location: location }).end();

function send(response: ServerResponse, status: number, type: string, body: string | Buffer, policy?: string): void {
  response.writeHead(status, {
    ...PAGE_HEADERS,
    ...(policy !== undefined && { 'Content-Security-Policy': policy }),
    'Content-Type': type,
  });
  response.end(body);
}
