import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id that a client may choose: printable, short, and harmless in a log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

/** Returns the client's request id if it is well-formed, else a new one. */
export function resolveRequestId({ headers }: IncomingMessage): string {
  const candidate = headers['x-request-id'];
  return typeof candidate === 'string' && REQUEST_ID_PATTERN.test(candidate) ? candidate : randomUUID();
}
