import { assertConforms } from '../contract/conformance';
import type { ReceivedResponse, RequestInfo } from './received-response';

/**
 * Asserts what holds for every response of every operation. The test service passes each response it receives to this.
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
