import type { IncomingHttpHeaders } from 'node:http';

/** Trace id of W3C's `traceparent`: `00-<trace id>-<span id>-<flags>`. */
const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Trace id of Google's `X-Cloud-Trace-Context`: `<trace id>/<span id>;o=<options>`. */
const CLOUD_TRACE_CONTEXT = /^([0-9a-f]{32})(?:\/|$)/i;

/** @returns the trace id of a request, 32 hex digits; null without a well-formed header */
export function parseTraceId(headers: IncomingHttpHeaders): string | null {
  const [, w3c] = TRACEPARENT.exec(headers['traceparent']?.toString() ?? '') ?? [];
  const [, cloud] = CLOUD_TRACE_CONTEXT.exec(headers['x-cloud-trace-context']?.toString() ?? '') ?? [];
  return w3c ?? cloud?.toLowerCase() ?? null;
}
