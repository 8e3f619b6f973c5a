import assert from 'node:assert/strict';
import { assertConforms } from '../contract/conformance';
import type { ReceivedResponse, RequestInfo } from './received-response';

/**
 * Asserts what holds for every response of every operation. The test service passes each response it receives to this.
 * Node's assertions: an `expect` takes longer than most responses do.
 */
export function assertResponse(request: RequestInfo, response: ReceivedResponse): void {
  assertConforms(request, response);
  const { status, headers, text, json } = response;
  assert.match(String(headers['x-request-id']), /^[\w.-]{1,128}$/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-powered-by'], undefined);
  if (status === 204) {
    assert.equal(text, '');
    return;
  }
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  assert(headers.vary?.split(', ').includes('Accept-Encoding'), `vary is ${headers.vary}`);
  if (request.method !== 'HEAD') assert.equal(typeof json, 'object');
}
