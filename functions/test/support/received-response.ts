import type { IncomingHttpHeaders } from 'node:http';
import type { OperationName } from './operations';

/** What a request came back with. */
export interface ReceivedResponse {
  status: number;
  /** Names in lower case; a header that came several times is joined, as Node does it. */
  headers: IncomingHttpHeaders;
  /** The body as it was sent. */
  bytes: Buffer;
  /** The body as text, inflated. */
  text: string;
  /** The body as a value; undefined where an answer has no body (204, and any answer to HEAD). */
  json: unknown;
}

/** The request that an answer belongs to, as far as judging the answer needs it. */
export interface RequestInfo {
  operation: OperationName;
  method: string;
}
