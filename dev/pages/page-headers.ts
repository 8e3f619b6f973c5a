import type { IncomingMessage, ServerResponse } from 'node:http';

/** Protects the local pages from other pages in the same browser. */

/** The headers of every page. No page can be in a frame, and only a page with its own policy runs scripts. */
export const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': formatPolicy({ 'default-src': "'none'" }),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Returns a content security policy. A given directive is added to the defaults, or replaces the one of the same name. */
export function formatPolicy(directives: Readonly<Record<string, string>>): string {
  const policy = {
    'style-src': "'self'",
    'img-src': 'data:',
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
    ...directives,
  };
  return Object.entries(policy)
    .map((directive) => directive.join(' '))
    .join('; ');
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Refuses a request whose host is not 127.0.0.1, ::1 or localhost. Otherwise a web page could read every response if a DNS entry
 * pointed its host name to this machine.
 *
 * @returns whether it has responded, with 403
 */
export function refuseForeignHost(request: IncomingMessage, response: ServerResponse): boolean {
  const host = parseHost(request);
  if (LOOPBACK.includes(host)) return false;
  refuse(response, `The host "${host}" is not allowed. Use 127.0.0.1 or localhost.`);
  return true;
}

/**
 * Refuses a request that a page of another site has caused. Otherwise that page could learn from a prefetch, for example, whether
 * a path exists, and so which ids the data has. A person who types an address or follows a link of this server is not refused.
 *
 * @returns whether it has responded, with 403
 */
export function refuseOtherSite({ headers }: IncomingMessage, response: ServerResponse): boolean {
  if (headers['sec-fetch-site'] !== 'cross-site') return false;
  refuse(
    response,
    'A page of another site requested this address. To open a local page, type its address into the browser.',
  );
  return true;
}

function refuse(response: ServerResponse, error: string): void {
  response.writeHead(403, { ...PAGE_HEADERS, 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ error }));
}

function parseHost({ headers }: IncomingMessage): string {
  const address = `http://${headers.host ?? ''}`;
  return URL.canParse(address) ? new URL(address).hostname : '';
}
