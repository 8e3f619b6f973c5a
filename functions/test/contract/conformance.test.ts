import type { ReceivedResponse, RequestInfo } from '../support/received-response';
import { assertConforms } from './conformance';

/** The conformance check rejects responses that do not conform. Otherwise it would prove nothing in the HTTP tests. */

const TEAMS: RequestInfo = { operation: 'getTeams', method: 'GET' };

const good = createResponse(200, { teams: { t: { name: null, country_iso: 'KEN' } }, count: 1 });

function createResponse(status: number, json: unknown, headers: ReceivedResponse['headers'] = {}): ReceivedResponse {
  const text = json === undefined ? '' : JSON.stringify(json);
  return {
    status,
    headers: {
      'x-request-id': 'a',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
      'content-type': 'application/json; charset=utf-8',
      date: 'Sat, 21 Nov 2026 10:00:00 GMT',
      ...headers,
    },
    bytes: Buffer.from(text),
    text,
    json,
  };
}

test('a described response conforms', () => {
  expect(() => assertConforms(TEAMS, good)).not.toThrow();
});

test.each<[string, RequestInfo, ReceivedResponse]>([
  ['a status that is not described', TEAMS, createResponse(404, { error: 'Not found' })],
  ['a missing header', TEAMS, { ...good, headers: { ...good.headers, 'x-request-id': undefined } }],
  ['a header with another value', TEAMS, createResponse(200, good.json, { 'cache-control': 'public' })],
  ['a header that is not described', TEAMS, createResponse(200, good.json, { etag: 'x' })],
  ['another content type', TEAMS, createResponse(200, good.json, { 'content-type': 'text/html' })],
  ['a missing field', TEAMS, createResponse(200, { teams: { t: { name: null } }, count: 1 })],
])('%s does not conform', (_, request, wrong) => {
  expect(() => assertConforms(request, wrong)).toThrow('docs/openapi.json');
});
