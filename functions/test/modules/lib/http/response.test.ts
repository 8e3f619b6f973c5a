import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ClientGoneError } from '../../../../src/lib/errors';
import { MemoryBudget } from '../../../../src/lib/http/memory-budget';
import { sendResponse, type OutgoingResponse } from '../../../../src/lib/http/response';
import { createWorkContext } from '../../../../src/lib/work-context';
import { sendRequest } from '../../../../../dev/run/http';

let server: Server;
let respond: (response: ServerResponse) => Promise<unknown>;
/** What `respond` returned. If it threw, `gone` for a ClientGoneError, or else the error. */
let sent: Promise<unknown>;

beforeAll(async () => {
  server = createServer((_, response) => {
    sent = respond(response).catch((error: unknown) => {
      response.destroy();
      return error instanceof ClientGoneError ? 'gone' : error;
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

const budget = new MemoryBudget(Infinity);

/** Sends a response. @returns the text 'sent' */
async function respondWith(
  response: ServerResponse,
  outgoing: OutgoingResponse,
  { share = budget.createShare(), work = context } = {},
) {
  await sendResponse(response, outgoing, work, share);
  return 'sent';
}

const getPort = () => (server.address() as AddressInfo).port;

const send = (headers = {}) => sendRequest(getPort(), { method: 'GET', headers });

async function fetchResponse(outgoing: OutgoingResponse, acceptEncoding?: string) {
  respond = (response) => respondWith(response, outgoing);
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

test('a short response has the given status and headers, the type and length of its body, and the headers against caching and sniffing', async () => {
  const headers = { 'X-One': '1' };
  const { status, headers: received, text, result } = await fetchResponse({ status: 404, headers, body: '{"é":1}' });
  expect([status, text, result]).toEqual([404, '{"é":1}', 'sent']);
  expect(received).toMatchObject({
    'x-one': '1',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
});

test('a response without a body has no headers of a body', async () => {
  const { status, headers } = await fetchResponse({ status: 204 });
  expect([status, Object.keys(headers).sort()]).toEqual([
    204,
    ['cache-control', 'connection', 'date', 'x-content-type-options'],
  ]);
});

test('a second response to the same request is dropped', async () => {
  let first: string | undefined;
  respond = async (response) => {
    first = await respondWith(response, { body: '1' });
    return respondWith(response, { status: 500, body: '2' });
  };
  expect(await send()).toMatchObject({ status: 200, text: '1' });
  expect([first, await sent]).toEqual(['sent', 'gone']);
});

describe('the encoding', () => {
  test.each([
    [undefined, undefined],
    ['gzip', 'gzip'],
    ['br, gzip', 'gzip'],
    ['br', undefined],
    ['identity, gzip;q=0.1', undefined],
  ])('for Accept-Encoding %s is %s', async (accepted, expected) => {
    const body = createText(2_000);
    const { headers, bytes, text } = await fetchResponse({ body }, accepted);
    expect(headers['content-encoding']).toBe(expected);
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(text).toBe(body);
  });

  test.each([
    [1_023, undefined],
    [1_024, 'gzip'],
  ])('of a response of %d bytes is %s', async (length, expected) => {
    const { headers } = await fetchResponse({ body: 'x'.repeat(length) }, 'gzip');
    expect(headers['content-encoding']).toBe(expected);
  });

  test('compresses to about the size of gzip level 1', async () => {
    const { bytes } = await fetchResponse({ body: createText(60 * KIB) }, 'gzip');
    expect(bytes.length / gzipSync(createText(60 * KIB), { level: 1 }).length).toBeCloseTo(1, 2);
  });

  test.each(['gzip', undefined])('of a stream for Accept-Encoding %s is that of a single text', async (accepted) => {
    const body = createText(200 * KIB);
    const { headers, bytes, text } = await fetchResponse(
      { body: stream(...(body.match(/.{1,10000}/g) ?? [])) },
      accepted,
    );
    expect([headers['content-encoding'], headers['content-length']]).toEqual([accepted, String(bytes.length)]);
    expect(text === body).toBe(true);
  });
});

describe('a large response', () => {
  const text = 'x'.repeat(1_000_000);
  const times = (count: number) => Array<string>(count).fill(text);

  test('of the maximum buffered size has a Content-Length', async () => {
    const { headers, bytes } = await fetchResponse({ body: stream(...times(30)) });
    expect([headers['content-length'], bytes.length]).toEqual(['30000000', 30_000_000]);
  });

  test('above the maximum buffered size is sent in chunks', async () => {
    const body = stream(...times(31), 'end');
    const { status, headers, bytes, result } = await fetchResponse({ status: 201, headers: { 'X-One': '1' }, body });
    expect(headers).toMatchObject({ 'transfer-encoding': 'chunked', 'x-one': '1' });
    expect([status, bytes.length, bytes.subarray(-4).toString(), result]).toEqual([201, 31_000_003, 'xend', 'sent']);
  });

  test('that the memory budget can hold does not begin until it exceeds the maximum buffered size, so an error can still become a response', async () => {
    respond = async (response) => {
      const body = async function* () {
        yield* stream(...times(30));
        throw new Error('the database is gone');
      };
      await expect(respondWith(response, { body: body() })).rejects.toThrow('the database is gone');
      response.writeHead(500).end('error');
    };
    const { status, headers, text } = await send();
    expect([status, headers['content-type'], text]).toEqual([500, undefined, 'error']);
  });
});

test('a response begins early if the memory of the instance cannot hold it', async () => {
  const small = new MemoryBudget(500_000);
  const other = small.createShare();
  expect(other.tryResize(300_000)).toBe(true);
  const body = () => stream(...Array<string>(3).fill('x'.repeat(100_000)));
  respond = (response) => respondWith(response, { body: body() }, { share: small.createShare() });
  expect((await send()).headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  other.release();
  expect((await send()).headers).toMatchObject({ 'content-length': '300000' });
});

test('a response stops reading its data when its client disconnects', async () => {
  let reads = 0;
  respond = (response) => {
    const body = async function* () {
      for (; reads < 1_000; reads += 1) {
        if (reads === 3) response.destroy();
        yield* stream(createText(70 * KIB));
      }
    };
    return respondWith(response, { body: body() });
  };
  await expect(send()).rejects.toThrow();
  expect(await sent).toBe('gone');
  expect(reads).toBeLessThan(10);
});

/** Opens a request of a client that reads only the head of the response. */
async function openWithoutReading(): Promise<IncomingMessage> {
  const opened = get({ host: '127.0.0.1', port: getPort(), agent: false });
  const [incoming] = (await once(opened, 'response')) as [IncomingMessage];
  incoming.on('error', () => undefined);
  return incoming;
}

test.each([undefined, 'gzip'])(
  'a long response, encoded as %s, waits for a client that does not read',
  async (encoding) => {
    let reads = 0;
    // The text is random, so the compressed response is long too.
    const text = randomBytes(500_000).toString('base64');
    respond = (response) => {
      if (encoding !== undefined) response.req.headers['accept-encoding'] = encoding;
      const body = async function* () {
        for (; reads < 110; reads += 1) yield* stream(text);
      };
      return respondWith(response, { body: body() });
    };
    const incoming = await openWithoutReading();
    let before = -1;
    while (reads > before) {
      before = reads;
      await delay(300);
    }
    // About 30 MB is buffered in the process, and a few MB more in both sockets.
    expect(reads).toBeLessThan(90);
    incoming.resume();
    expect(await sent).toBe('sent');
    expect(reads).toBe(110);
  },
);

test.each([
  ['between the chunks of a long response', 60],
  ['at the end of a buffered response', 25],
])('the wait for a client that does not read ends when the request times out: %s', async (_, count) => {
  const timeout = new AbortController();
  const outcomes: unknown[] = [];
  respond = (response) => {
    const body = stream(...Array<string>(count).fill('x'.repeat(1_000_000)));
    const sending = respondWith(response, { body }, { work: createWorkContext(timeout.signal) });
    return sending.finally(() => outcomes.push('ended'));
  };
  const incoming = await openWithoutReading();
  await delay(300);
  expect(outcomes).toEqual([]);
  timeout.abort();
  expect(await sent).toMatchObject({ code: 'request_timeout' });
  incoming.destroy();
});

describe('a response to an incomplete request', () => {
  let socket: Socket;
  let response: ServerResponse;
  let received: string;

  afterEach(() => {
    jest.useRealTimers();
    socket.destroy();
  });

  /** Sends the head of a request that announces a body of 100 MB, and gets the response. Timers run only when the test advances them. */
  async function open(outgoing: OutgoingResponse = { body: '"done"' }): Promise<void> {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
    const responded = Promise.withResolvers<unknown>();
    respond = async (given) => {
      response = given;
      const result = await respondWith(given, outgoing);
      responded.resolve(result);
      return result;
    };
    received = '';
    socket = connect(getPort(), '127.0.0.1').on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    socket.write('POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 100000000\r\n\r\n');
    expect(await responded.promise).toBe('sent');
    await settle();
  }

  /** Lets bytes travel over the connection. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 50; i += 1) await turn();
  }

  async function sendBytes(bytes: string | Buffer): Promise<void> {
    const before = response.req.socket.bytesRead;
    socket.write(bytes);
    while (response.req.socket.bytesRead < before + bytes.length) await turn();
    await settle();
  }

  async function isOpenAfter(ms: number): Promise<boolean> {
    jest.advanceTimersByTime(ms);
    await settle();
    return !socket.destroyed;
  }

  test('is complete before the body of the request has arrived, and the connection stays open', async () => {
    await open();
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)?Connection: close\r\n.*"done"$/s);
    expect([socket.destroyed, response.writableEnded]).toEqual([false, false]);
  });

  test('is sent even without a body', async () => {
    await open({ status: 204 });
    expect(received).toMatch(/^HTTP\/1\.1 204 /);
  });

  test('closes the connection when no byte of the request has arrived for 2 s', async () => {
    await open();
    expect(await isOpenAfter(1_900)).toBe(true);
    await sendBytes('x');
    expect(await isOpenAfter(1_900)).toBe(true);
    expect(await isOpenAfter(100)).toBe(false);
  });

  test('closes the connection after 5 s, even if bytes of the request still arrive', async () => {
    await open();
    for (let i = 0; i < 4; i += 1) {
      expect(await isOpenAfter(1_200)).toBe(true);
      await sendBytes('x');
    }
    expect(await isOpenAfter(200)).toBe(false);
  });

  test('discards a body of 100 MB, and closes the connection at the end of it', async () => {
    await open();
    await sendBytes(Buffer.alloc(64 * 1024 * KIB));
    expect(await isOpenAfter(1_900)).toBe(true);
    await sendBytes(Buffer.alloc(100_000_000 - 64 * 1024 * KIB));
    expect([socket.destroyed, response.writableEnded]).toEqual([true, true]);
  });

  test('leaves no timer when the client disconnects', async () => {
    await open();
    const closed = once(response, 'close');
    socket.destroy();
    await closed;
    expect(jest.getTimerCount()).toBe(0);
  });
});
