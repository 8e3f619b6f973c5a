import { assertConforms } from '../contract/conformance';
import type { ReceivedResponse, RequestInfo } from './received-response';

/**
 * What holds for every answer of every operation, whatever the request was. Every answer that the harness receives goes
 * through here.
 */
export function assertResponse(request: RequestInfo, response: ReceivedResponse): void {
  assertConforms(request, response);
  const { status, headers, text } = response;
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
  if (request.method !== 'HEAD') expect(typeof JSON.parse(text)).toBe('object');
}
