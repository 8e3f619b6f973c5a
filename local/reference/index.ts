import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { resolve } from 'node:path';

/**
 * The reference of the interface: docs/openapi.json in Swagger UI, where each operation can be tried, and the guides in docs as
 * they are. Everything comes from this machine; the page's content security policy allows nothing else.
 */

const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

/** The files behind the page, by their paths. */
const files = {
  '/openapi.json': ['docs/openapi.json', 'application/json; charset=utf-8'],
  '/reference/page.css': ['local/reference/page.css', CSS],
  '/reference/page.mjs': ['local/reference/page.mjs', SCRIPT],
  '/reference/swagger-ui.css': ['node_modules/swagger-ui-dist/swagger-ui.css', CSS],
  '/reference/swagger-ui-bundle.js': ['node_modules/swagger-ui-dist/swagger-ui-bundle.js', SCRIPT],
} as const;

/** The handlers of `/` and of the paths that its page loads. @param apiKey filled in on the page, unless it is empty */
export function createReferenceRoutes(apiKey: string): ReadonlyMap<string, RequestListener> {
  const page = createListener(HTML, async () => {
    const template = await readFile(resolve('local/reference/page.html'), 'utf8');
    return template.replace('{{API_KEY}}', () => escapeAttribute(apiKey));
  });
  const guides = readdirSync('docs').filter((name) => name.endsWith('.md'));
  const others = [
    ...Object.entries(files),
    ...guides.map((name) => [`/docs/${name}`, [`docs/${name}`, TEXT]] as const),
  ];
  const listeners = others.map(
    ([path, [file, type]]) => [path, createListener(type, () => readFile(resolve(file)))] as const,
  );
  return new Map([['/', page], ...listeners]);
}

/** Leads a browser on from an address that nothing is at. */
export const sendNotFoundPage: RequestListener = createListener(
  HTML,
  () => readFile(resolve('local/reference/not-found.html')),
  404,
);

function createListener(type: string, content: () => Promise<string | Buffer>, status = 200): RequestListener {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
      return;
    }
    content().then(
      (body) =>
        response
          .writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'Content-Security-Policy': POLICY })
          .end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  };
}

/** Text as the value of an HTML attribute in double quotes. */
const escapeAttribute = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
