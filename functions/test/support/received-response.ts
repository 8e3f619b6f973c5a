import type { IncomingHttpHeaders } from 'node:http';
import type { OperationName } from './operations';

/** A response as it was received. */
export interface ReceivedResponse {
  status: number;
  /** Names in lower case; a header that came several times is joined, as Node does it. */
  headers: IncomingHttpHeaders;
  /** The body as it was sent. */
  bytes: Buffer;
  /** The body as text, inflated. */
  text: string;
  /** The body as a value; undefined if a response has no body (204, and any response to HEAD). */
  json: unknown;
}

/** The request of a response, as far as the checks of the response need it. */
export interface RequestInfo {
  operation: OperationName;
  method: string;
}
