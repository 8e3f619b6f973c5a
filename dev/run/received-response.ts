import type { IncomingHttpHeaders } from 'node:http';
import type { OperationName } from './operations';

export interface ReceivedResponse {
  status: number;
  /** Headers by name in lower case. Node joins most headers that were sent several times. */
  headers: IncomingHttpHeaders;
  /** The body before it is inflated. */
  bytes: Buffer;
  /** The body as text, inflated. */
  text: string;
  /** The parsed body, or undefined if it is not JSON, such as the empty body of a 204. */
  json: unknown;
}

/** The parts of a request that the checks of its response need. */
export interface RequestInfo {
  operation: OperationName;
  method: string;
}
