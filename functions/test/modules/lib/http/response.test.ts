import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { MAX_BUFFERED_RESPONSE_BYTES, sendResponse, type OutgoingResponse } from '../../../../src/lib/http/response';
import { createWorkContext } from '../../../../src/lib/work-context';
import { sendRequest } from '../../../support/http';

let server: Server;
let respond: (response: ServerResponse) => Promise<unknown>;
/** What {@link sendResponse} returned, or threw. */
let sent: Promise<unknown>;

beforeAll(async () => {
  server = createServer((_, response) => {
    sent = respond(response).catch((error: unknown) => {
      response.destroy();
      return error;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const context = createWorkContext(new AbortController().signal);

const getPort = () => (server.address() as AddressInfo).port;

const send = (headers = {}) => sendRequest(getPort(), { method: 'GET', headers });

async function fetchResponse(outgoing: OutgoingResponse, acceptEncoding?: string) {
  respond = (response) => sendResponse(response, outgoing, context);
  const response = await send(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding });
  return { ...response, result: await sent };
}

async function* stream(...texts: string[]): AsyncGenerator<string> {
  for (const text of texts) {
    await Promise.resolve();
    yield text;
  }
}

/** Creates text of digits, which compresses to about half its size. */
const createText = (length: number) =>
  Array.from({ length: Math.ceil(length / 8) }, (_, i) => ((i * 2_654_435_761) % 1e8).toString().padStart(8, '0'))
    .join('')
    .slice(0, length);

const KIB = 1024;

test('a response has its status, its headers, and those of JSON', async () => {
  const headers = { 'X-One': '1' };
  const { status, headers: received, text, result } = await fetchResponse({ status: 404, headers, body: '{"é":1}' });
  expect([status, text, result]).toEqual([404, '{"é":1}', true]);
  expect(received).toMatchObject({
    'x-one': '1',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '8',
  });
});

describe('the encoding', () => {
  test.each([
    [undefined, undefined],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['identity', undefined],
    ['identity, gzip;q=0.1', undefined],
    ['identity, gzip', 'gzip'],
    ['*', 'br'],
  ])('for Accept-Encoding %s is %s', async (accepted, expected) => {
    const body = createText(2_000);
    const { headers, bytes, text } = await fetchResponse({ status: 200, body }, accepted);
    expect(headers['content-encoding']).toBe(expected);
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(text).toBe(body);
  });

  test.each([
    [1_023, undefined],
    [1_024, 'gzip'],
  ])('of %d bytes is %s', async (length, expected) => {
    const { headers } = await fetchResponse({ status: 200, body: 'x'.repeat(length) }, 'gzip');
    expect(headers['content-encoding']).toBe(expected);
  });

  test.each<[string, (text: string) => Buffer]>([
    ['gzip', (text) => gzipSync(text, { level: 1 })],
    ['br', (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } })],
  ])('%s has level 1 of gzip or quality 2 of Brotli', async (encoding, compress) => {
    const text = createText(60 * KIB);
    const { bytes } = await fetchResponse({ status: 200, body: text }, encoding);
    expect(bytes.length).toBe(compress(text).length);
  });

  test.each([64 * KIB - 1, 64 * KIB, 200 * KIB])('of a stream of %d bytes is that of one text', async (length) => {
    const body = createText(length);
    for (const accepted of ['gzip', 'br', undefined]) {
      const texts = body.match(/[^]{1,10000}/g) ?? [];
      const { headers, bytes, text } = await fetchResponse({ status: 200, body: stream(...texts) }, accepted);
      expect([headers['content-encoding'], headers['content-length']]).toEqual([accepted, String(bytes.length)]);
      expect(text === body).toBe(true);
    }
  });
});

describe('a large response', () => {
  const text = 'x'.repeat(1_000_000);
  const times = (count: number) => Array<string>(count).fill(text);

  test('of the maximum buffered size has a Content-Length', async () => {
    const { headers, bytes } = await fetchResponse({ status: 200, body: stream(...times(30)) });
    expect([headers['content-length'], bytes.length]).toEqual([
      String(MAX_BUFFERED_RESPONSE_BYTES),
      MAX_BUFFERED_RESPONSE_BYTES,
    ]);
  });

  test('above that size is sent in chunks', async () => {
    const { status, headers, bytes, result } = await fetchResponse({
      status: 201,
      headers: { 'X-One': '1' },
      body: stream(...times(31), 'end'),
    });
    expect([status, headers['content-length'], headers['transfer-encoding'], headers['x-one']]).toEqual([
      201,
      undefined,
      'chunked',
      '1',
    ]);
    expect([bytes.length, bytes.subarray(-4).toString(), result]).toEqual([31_000_003, 'xend', true]);
  });

  test('does not begin until it exceeds that size, so an error can still become a response', async () => {
    let response: ServerResponse | undefined;
    respond = async (given) => {
      response = given;
      const body = async function* () {
        yield* stream(...times(30));
        throw new Error('the database is gone');
      };
      await sendResponse(given, { status: 200, body: body() }, context).catch((error: unknown) => {
        expect(error).toMatchObject({ message: 'the database is gone' });
        expect(given.headersSent).toBe(false);
        given.writeHead(500).end('error');
      });
    };
    expect(await send()).toMatchObject({ status: 500, text: 'error' });
    expect(response?.getHeader('content-type')).toBeUndefined();
  });
});

test('a response stops reading when its client disconnects', async () => {
  let reads = 0;
  respond = (response) => {
    const body = async function* () {
      for (; reads < 1_000; reads += 1) {
        if (reads === 3) response.destroy();
        yield* stream(createText(70 * KIB));
      }
    };
    return sendResponse(response, { status: 200, body: body() }, context);
  };
  await expect(send()).rejects.toThrow();
  expect(await sent).toBe(false);
  expect(reads).toBeLessThan(10);
});

test.each([
  ['between the chunks of a long response', 60],
  ['at the end of a buffered one', 25],
])('the wait for a client that does not read ends when the request times out: %s', async (_, count) => {
  const timeout = new AbortController();
  const outcomes: unknown[] = [];
  respond = (response) => {
    const body = stream(...Array<string>(count).fill('x'.repeat(1_000_000)));
    const sending = sendResponse(response, { status: 200, body }, createWorkContext(timeout.signal));
    return sending.finally(() => outcomes.push('ended'));
  };
  const [incoming] = (await once(get({ host: '127.0.0.1', port: getPort(), agent: false }), 'response')) as [
    IncomingMessage,
  ];
  incoming.on('error', () => undefined);
  await delay(300);
  expect(outcomes).toEqual([]);
  timeout.abort();
  expect(await sent).toMatchObject({ code: 'request_timeout' });
  incoming.destroy();
});
