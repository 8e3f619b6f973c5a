import type { IncomingHttpHeaders } from 'node:http';
import { assertConforms } from '../contract/conformance';
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

/**
 * What holds for every answer of every operation, whatever the request was. Every answer that the harness receives goes
 * through here.
 */
export function assertResponse(asked: RequestInfo, answer: ReceivedResponse): void {
  assertConforms(asked, answer);
  const { status, headers, text } = answer;
  expect(headers['x-request-id']).toMatch(/^[\w.-]{1,128}$/);
  expect(headers['x-content-type-options']).toBe('nosniff');
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['x-powered-by']).toBeUndefined();
  if (status === 204) {
    expect(text).toBe('');
    return;
  }
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers.vary?.split(', ')).toContain('Accept-Encoding');
  if (asked.method !== 'HEAD') expect(typeof JSON.parse(text)).toBe('object');
}
