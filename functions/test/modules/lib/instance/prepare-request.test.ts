import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getTraceId } from '../../../../src/lib/instance/prepare-request';
import { startInstance } from '../../../../src/lib/instance/start';
import { sendRequest } from '../../../../../dev/run/http';

const OPERATIONS = readdirSync('functions/src').filter((file) => file.endsWith('.ts') && file !== 'index.ts');

test.each(OPERATIONS)('importing %s changes no request of the process', async (file) => {
  const subscribe = jest.spyOn(channel('http.server.request.start'), 'subscribe');
  await jest.isolateModulesAsync(() => import(`../../../../src/${file}`) as Promise<void>);
  expect(subscribe).not.toHaveBeenCalled();
  subscribe.mockRestore();
});

describe('each request of a process that serves functions', () => {
  let server: Server;
  let received: Pick<IncomingMessage, 'url' | 'headers'>[];

  beforeAll(async () => {
    startInstance();
    server = createServer((request, response) => {
      received.push({ url: request.url, headers: request.headers });
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => (received = []));
  afterAll(() => server.close());

  async function receive(path: string, headers: Record<string, string | string[]> = {}) {
    await sendRequest((server.address() as AddressInfo).port, { method: 'GET', path, headers });
    return received[0];
  }

  test('loses its content type, and outside an instance keeps every other well-formed header', async () => {
    const request = await receive('/', { 'content-type': 'application/json', 'x-other': '1' });
    expect(Object.keys(request?.headers ?? {})).toEqual(['x-other', 'host', 'connection']);
  });

  test('has the path / in an instance, so that the framework can route any address, and elsewhere its own path', async () => {
    expect((await receive('/data/orders?field=status'))?.url).toBe('/data/orders?field=status');
    received = [];
    process.env['K_SERVICE'] = 'getteams';
    for (const path of ['/', '*', '/%ff?a=b', 'http://elsewhere/a']) await receive(path);
    delete process.env['K_SERVICE'];
    expect(received.map(({ url }) => url)).toEqual(['/', '/', '/', '/']);
  });

  test('has only the headers that the service and the framework need, if an instance serves it', async () => {
    const kept = {
      'x-api-key': 'a',
      'x-request-id': 'b',
      origin: 'c',
      'accept-encoding': 'gzip',
      'x-cloudscheduler-jobname': 'd',
    };
    const removed = {
      'ce-type': 'a',
      'x-forwarded-for': '1.2.3.4',
      authorization: 'a',
      'x-anything-new': 'b',
      cookie: 'c',
      ['__proto__']: 'd',
    };
    process.env['K_SERVICE'] = 'getteams';
    const request = await receive('/', { ...kept, ...removed });
    delete process.env['K_SERVICE'];
    expect(Object.keys(request?.headers ?? {}).sort()).toEqual([...Object.keys(kept), 'connection', 'host'].sort());
  });

  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

  test.each([
    ['function-execution-id', 'ip6ym9iwyr1s'],
    ['traceparent', PARENT],
    ['x-cloud-trace-context', `${TRACE.toUpperCase()}/18446744073709551615;o=1`],
    ['x-cloud-trace-context', TRACE],
  ])('keeps a well-formed %s: %s', async (name, value) => {
    expect((await receive('/', { [name]: value }))?.headers[name]).toBe(value);
  });

  test.each([
    ['function-execution-id', 'x'.repeat(65)],
    ['function-execution-id', 'two words'],
    ['function-execution-id', ['a', 'b']],
    ['traceparent', PARENT.toUpperCase()],
    ['traceparent', `${PARENT}-more`],
    ['traceparent', [PARENT, PARENT]],
    ['traceparent', PARENT.replace('00', 'ff')],
    ['x-cloud-trace-context', `${TRACE}/18446744073709551616`],
    ['x-cloud-trace-context', `${'1'.repeat(4_000)}/1`],
    ['x-cloud-trace-context', `${TRACE}/1;o=${'x'.repeat(100)}`],
  ])('loses a malformed %s (%#)', async (name, value) => {
    const request = await receive('/', { [name]: value, 'x-other': '1' });
    expect(request?.headers[name]).toBeUndefined();
    expect(request?.headers['x-other']).toBe('1');
  });

  test.each([
    ['traceparent', { traceparent: PARENT }, TRACE],
    ['x-cloud-trace-context', { 'x-cloud-trace-context': `${TRACE.toUpperCase()}/123;o=1` }, TRACE],
    [
      'both headers, of which x-cloud-trace-context counts',
      { traceparent: PARENT.replace(TRACE, 'a'.repeat(32)), 'x-cloud-trace-context': `${TRACE}/1` },
      TRACE,
    ],
    ['a malformed header', { traceparent: `00-${TRACE}` }, null],
    ['no header', {}, null],
  ])('has the trace id of its headers, or null: %s', async (_, headers, expected) => {
    const request = await receive('/', headers);
    expect(getTraceId(request?.headers ?? {})).toBe(expected);
  });
});
