import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { ClientWriter, isAnswered } from '../../../../src/lib/http/client-writer';
import { createWorkContext } from '../../../../src/lib/work-context';

const context = createWorkContext(new AbortController().signal);

let server: Server;
let socket: Socket;
let response: ServerResponse;
let received: string;

beforeAll(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

afterEach(() => {
  jest.useRealTimers();
  socket.destroy();
});

/** Sends the head of a request with a body of 100 MB. Timers run only when the test advances them. */
async function open(): Promise<ClientWriter> {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
  received = '';
  socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
  const requested = once(server, 'request') as Promise<[unknown, ServerResponse]>;
  socket.write('POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 100000000\r\n\r\n');
  [, response] = await requested;
  return new ClientWriter(response, context);
}

async function respond(writer: ClientWriter, body = 'done'): Promise<void> {
  response.setHeader('Content-Length', body.length);
  writer.write(Buffer.from(body));
  expect(await writer.end()).toBe(true);
}

/** Lets bytes travel over the connection. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i += 1) await turn();
}

async function sendByte(): Promise<void> {
  const before = response.req.socket.bytesRead;
  socket.write('x');
  while (response.req.socket.bytesRead === before) await turn();
  await settle();
}

async function isOpenAfter(ms: number): Promise<boolean> {
  jest.advanceTimersByTime(ms);
  await settle();
  return !socket.destroyed;
}

test('the writer ends once the bytes are written, before the request body has arrived', async () => {
  await respond(await open());
  expect(isAnswered(response)).toBe(true);
  await settle();
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)?Connection: close\r\n.*done$/s);
  expect([socket.destroyed, response.writableEnded]).toEqual([false, false]);
});

test('a response without a body is also sent before the request body has arrived', async () => {
  const writer = await open();
  response.statusCode = 204;
  expect(await writer.end()).toBe(true);
  await settle();
  expect(received).toMatch(/^HTTP\/1\.1 204 /);
});

test('the connection closes 2 s after the last byte', async () => {
  await respond(await open());
  expect(await isOpenAfter(1_900)).toBe(true);
  await sendByte();
  expect(await isOpenAfter(1_900)).toBe(true);
  expect(await isOpenAfter(100)).toBe(false);
});

test('the connection closes after 5 s, although bytes still arrive', async () => {
  await respond(await open());
  for (let i = 0; i < 4; i += 1) {
    expect(await isOpenAfter(1_200)).toBe(true);
    await sendByte();
  }
  expect(await isOpenAfter(200)).toBe(false);
});

test('the connection closes after 32 MiB, although bytes still arrive', async () => {
  await respond(await open());
  socket.write(Buffer.alloc(33 * 1024 * 1024));
  await once(socket, 'close');
  expect(response.req.socket.bytesRead).toBeGreaterThan(32 * 1024 * 1024);
});

test('a response that the client does not read does not count as answered', async () => {
  const writer = await open();
  socket.pause();
  writer.write(Buffer.alloc(32 * 1024 * 1024));
  const end = writer.end();
  await settle();
  expect(isAnswered(response)).toBe(false);
  socket.destroy();
  expect(await end).toBe(false);
});

test('a final response gets no bytes from another writer of the same request', async () => {
  const writer = await open();
  const late = new ClientWriter(response, context);
  await respond(writer);
  expect(late.isOver).toBe(true);
  await late.writeAtClientsPace(Buffer.from('more'));
  expect(await late.end()).toBe(true);
  await settle();
  expect(received).toMatch(/done$/);
});

test('no timer remains when the client disconnects', async () => {
  await respond(await open());
  const closed = once(response, 'close');
  socket.destroy();
  await closed;
  expect(jest.getTimerCount()).toBe(0);
});
