import type { IncomingMessage, ServerResponse } from 'node:http';

/** Protects the local pages from other pages in the same browser. */

/** The headers of every page. No page shows in a frame, and only a page with its own policy runs scripts. */
export const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': formatPolicy({ 'default-src': "'none'" }),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** A content security policy with the given directives beside those that every page has. */
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

/** Parses the environment variable ALLOWED_HOSTS: host names without a port, separated by commas. */
export const parseAllowedHosts = (text = ''): string[] =>
  text
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Refuses a request for a host name that is neither this machine's own nor allowed. Otherwise any web page whose host name a DNS
 * entry points to this machine could read every response.
 *
 * @returns whether it has responded, with 403
 */
export function refuseForeignHost(
  request: IncomingMessage,
  response: ServerResponse,
  allowedHosts: readonly string[],
): boolean {
  const host = parseHost(request);
  if ([...LOOPBACK, ...allowedHosts].includes(host)) return false;
  const error = `The host "${host}" is not allowed. Use 127.0.0.1 or localhost, or set ALLOWED_HOSTS to the names to allow, separated by commas.`;
  response.writeHead(403, { ...PAGE_HEADERS, 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ error }));
  return true;
}

/** Returns the host name of a request. */
function parseHost({ headers }: IncomingMessage): string {
  const address = `http://${headers.host ?? ''}`;
  return URL.canParse(address) ? new URL(address).hostname : '';
}
