import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isCloudRunInstance } from '../config';

/** Prepares a request before the Functions Framework sees it. */
export function prepareRequest(request: IncomingMessage): void {
  // Keeps the framework's body parsers away from every body (docs/decisions/0003-body-after-key.md).
  delete request.headers['content-type'];
  for (const [name, isWellFormed] of Object.entries(LOGGED_HEADERS)) {
    const value = request.headers[name]?.toString();
    if (value !== undefined && !isWellFormed(value)) Reflect.deleteProperty(request.headers, name);
  }
  if (!isCloudRunInstance()) return;
  // An instance serves one function, whatever the path. The framework would respond in HTML to a path that it
  // cannot route or decode, such as `*` or `/%ff`.
  request.url = '/';
  for (const name of Object.keys(request.headers))
    if (!KEPT_HEADERS.has(name)) Reflect.deleteProperty(request.headers, name);
}

/**
 * All headers that reach the framework in an instance. The framework and its libraries would act on other headers, such
 * as those of events.
 */
const KEPT_HEADERS = new Set([
  // of HTTP itself
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
  // of the service
  'accept-encoding',
  'access-control-request-headers',
  'access-control-request-method',
  'content-encoding',
  'origin',
  'x-api-key',
  'x-request-id',
  // of the platform: well-formed ones of LOGGED_HEADERS, and those that say which job calls the sweep, and for which time
  'function-execution-id',
  'traceparent',
  'x-cloud-trace-context',
  'x-cloudscheduler-jobname',
  'x-cloudscheduler-scheduletime',
]);

/**
 * Headers that the Functions Framework and firebase-functions copy into the log lines of the request.
 * Without these checks, a caller without an API key could write any text to the log.
 */
const LOGGED_HEADERS: Record<string, (value: string) => boolean> = {
  'function-execution-id': (value) => /^[\w-]{1,64}$/.test(value),
  traceparent: (value) => /^(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value),
  'x-cloud-trace-context': (value) => {
    const [match, , span = '0'] = /^[0-9a-f]{32}(\/(\d{1,20})(;o=[0-3])?)?$/i.exec(value) ?? [];
    return match !== undefined && BigInt(span) < 2n ** 64n;
  },
};

/**
 * Returns the content type, which {@link prepareRequest} deletes from `headers`. It comes from `rawHeaders`, because
 * `headersDistinct` of Node 22.19 throws an error for a header that is named `__proto__`.
 */
export function getContentType({ rawHeaders }: IncomingMessage): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'content-type') return rawHeaders[i + 1];
  }
  return undefined;
}

/** Returns the trace id of a prepared request, 32 hex digits; null without one. Like firebase-functions, prefers Google's header. */
export const getTraceId = ({ traceparent, 'x-cloud-trace-context': cloud }: IncomingHttpHeaders): string | null =>
  /[0-9a-f]{32}/i.exec((cloud ?? traceparent ?? '').toString())?.[0].toLowerCase() ?? null;
