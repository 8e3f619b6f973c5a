import * as fs from 'node:fs';
import type * as conformance from '../verify/conformance';

const DOCUMENT = fs.readFileSync('docs/openapi.json', 'utf8');

jest.mock('node:fs', () => ({ ...jest.requireActual<typeof fs>('node:fs') }));

function loadWith(document: string): typeof conformance {
  jest.resetModules();
  const files = jest.requireMock<typeof fs>('node:fs');
  jest.spyOn(files, 'readFileSync').mockReturnValue(document);
  return jest.requireActual<typeof conformance>('../verify/conformance');
}

const json = { error: 'Unauthorized' };
const text = JSON.stringify(json);
const response = {
  status: 401,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': 'a',
    'www-authenticate': 'ApiKey header="x-api-key"',
    vary: 'Accept-Encoding',
  },
  bytes: Buffer.from(text),
  text,
  json,
};
const request = { operation: 'getTeams', method: 'GET' } as const;

test('a response is compared with its description', () => {
  const { assertConforms } = loadWith(DOCUMENT);
  expect(() => assertConforms(request, response)).not.toThrow();
  expect(() => assertConforms(request, { ...response, json: { error: 1 } })).toThrow('must be string');
});

test('a format that ajv does not know fails the comparison, instead of only printing a warning', () => {
  const { assertConforms } = loadWith(DOCUMENT.replaceAll('"error": {', '"error": {"format": "sentence",'));
  expect(() => assertConforms(request, response)).toThrow('unknown format "sentence"');
});
