import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { isCloudRunInstance } from '../config';

/**
 * Prepares each request of this process before the Functions Framework sees it. Node publishes
 * each request on this channel before it calls a listener of the server.
 */
export function prepareEachRequest(): void {
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage };
    hideContentType(request);
    removeMalformedHeaders(request);
    if (isCloudRunInstance()) removePath(request);
  });
}

/**
 * Keeps the framework's body parsers away from every body. They parse and inflate before the API
 * key is checked, respond to malformed JSON in HTML, and skip a request without a content type.
 */
function hideContentType({ headers }: IncomingMessage): void {
  delete headers['content-type'];
}

/**
 * Headers that the Functions Framework and firebase-functions copy into the log lines of the request.
 * A value of any other form would let a caller without an API key write its own text to the log.
 */
const LOGGED_HEADERS = {
  'function-execution-id': /^[\w-]{1,64}$/,
  traceparent: /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/,
  'x-cloud-trace-context': /^[0-9a-f]{32}(\/\d{1,20}(;o=[0-3])?)?$/i,
};

function removeMalformedHeaders({ headers }: IncomingMessage): void {
  for (const [name, pattern] of Object.entries(LOGGED_HEADERS)) {
    const value = headers[name]?.toString();
    if (value !== undefined && !pattern.test(value)) Reflect.deleteProperty(headers, name);
  }
}

/**
 * An instance serves one operation, whatever the path. The framework would respond in HTML to a path that
 * it cannot route or decode, such as `*` or `/%ff`.
 */
function removePath(request: IncomingMessage): void {
  request.url = '/';
}
