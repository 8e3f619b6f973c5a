import * as functions from '../../src';
import { operationNames, operations } from '../../../dev/run/operations';
import { TEST_ORIGIN, useTestService } from '../../../test/harness/service';
import { writeRecords } from '../../../test/harness/stored';

const service = useTestService(functions);

/** Returns the CORS headers. Only responses of get warehouses have any. */
const corsHeaders = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
const varies = (vary: string | undefined) => vary?.split(/, */) ?? [];
const preflight = (headers: Record<string, string | undefined>) =>
  service.call('getWarehouses', { method: 'OPTIONS', headers: { 'x-api-key': undefined, ...headers } });

test('a preflight from an allowed origin is allowed without an API key', async () => {
  const origin = 'https://other.example.com';
  const { status, headers } = await preflight({ origin, 'access-control-request-headers': 'x-api-key,sentry-trace' });
  expect([status, corsHeaders(headers)]).toEqual([
    204,
    {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'x-api-key,sentry-trace',
      'access-control-expose-headers': 'X-Request-Id',
      'access-control-max-age': '3600',
    },
  ]);
  expect(varies(headers.vary)).toContain('Origin');
});

test.each([
  'https://evil.example.com',
  'null',
  `${TEST_ORIGIN}.evil.com`,
  TEST_ORIGIN.toUpperCase(),
  `${TEST_ORIGIN}, https://other.example.com`,
])('a preflight from %j, which is not listed, is rejected', async (origin) => {
  const { status, headers, json } = await preflight({ origin, 'access-control-request-method': 'GET' });
  expect([status, json]).toEqual([403, { error: 'Origin not allowed' }]);
  expect(corsHeaders(headers)).toEqual({});
  expect(varies(headers.vary)).toContain('Origin');
});

test('a preflight from the origin null is allowed if null is listed', async () => {
  service.setConfig({ CORS_ALLOWED_ORIGINS: 'null' });
  const { status, headers } = await preflight({ origin: 'null' });
  expect([status, headers['access-control-allow-origin']]).toEqual([204, 'null']);
});

test.each([undefined, '', ' , '])(
  'every preflight with an origin is rejected if the allowed origins are %j',
  async (CORS_ALLOWED_ORIGINS) => {
    service.setConfig({ CORS_ALLOWED_ORIGINS });
    for (const origin of [TEST_ORIGIN, 'null', '']) expect((await preflight({ origin })).status).toBe(403);
  },
);

test('a preflight is handled before the API key configuration is checked', async () => {
  service.setConfig({ API_KEY: undefined });
  expect((await preflight({ origin: TEST_ORIGIN })).status).toBe(204);
  expect((await preflight({ origin: 'https://evil.example.com' })).status).toBe(403);
});

test('a preflight without an origin gets 204 without CORS headers', async () => {
  const { status, headers } = await preflight({});
  expect(status).toBe(204);
  expect(corsHeaders(headers)).toEqual({});
  expect(varies(headers.vary)).toContain('Origin');
});

test.each([
  ['200', {}],
  ['401', { 'x-api-key': 'wrong' }],
])('a response with %s to an allowed origin has CORS headers', async (expected, more) => {
  const { status, headers } = await service.call('getWarehouses', { headers: { origin: TEST_ORIGIN, ...more } });
  expect(status).toBe(Number(expected));
  expect(corsHeaders(headers)).toEqual({
    'access-control-allow-origin': TEST_ORIGIN,
    'access-control-expose-headers': 'X-Request-Id',
  });
  expect(varies(headers.vary)).toEqual(expect.arrayContaining(['Origin', 'Accept-Encoding']));
  expect(varies(headers.vary).filter((name) => name === 'Origin')).toHaveLength(1);
});

test('get warehouses does not start if an allowed origin is one that no browser sends', () => {
  jest.replaceProperty(process, 'env', { ...process.env, CORS_ALLOWED_ORIGINS: `${TEST_ORIGIN}/` });
  const load = () => jest.isolateModules(() => jest.requireActual('../../src/get-warehouses'));
  expect(load).toThrow(`CORS_ALLOWED_ORIGINS: "${TEST_ORIGIN}/" is not an origin`);
  jest.restoreAllMocks();
});

test('a request from an origin that is not allowed, or without an origin, gets the complete response without CORS headers', async () => {
  await writeRecords(service.db, 'warehouses', { cairo: {} });
  for (const origin of ['https://evil.example.com', 'null', undefined]) {
    const { status, headers, json } = await service.call('getWarehouses', { headers: { origin } });
    expect([status, json]).toMatchObject([200, { count: 1 }]);
    expect(corsHeaders(headers)).toEqual({});
    expect(varies(headers.vary)).toContain('Origin');
  }
});

test.each(operationNames.filter((name) => !operations[name].cors))('%s sends no CORS headers', async (name) => {
  for (const method of ['OPTIONS', 'GET', 'POST']) {
    const { headers } = await service.call(name, { method, headers: { origin: TEST_ORIGIN } });
    expect(corsHeaders(headers)).toEqual({});
    expect(varies(headers.vary)).not.toContain('Origin');
  }
});
