import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Firestore } from '@google-cloud/firestore';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';

/** What a broken or hostile client sends changes nothing: the server, a process of its own here, serves the others as before. */

let server: ChildProcess;
let address: string;
let db: Firestore;

beforeAll(async () => {
  const command = ['--import', 'tsx', 'packages/firestore-local/src/command.ts', '--port', '0'];
  server = spawn(process.execPath, command, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  const [ready] = (await once(server.stdout ?? server, 'data')) as [Buffer];
  address = /HOST=(\S+)/.exec(String(ready))?.[1] ?? '';
  db = new Firestore({ projectId: 'kept', host: address, ssl: false, customHeaders: {} });
  await db.doc('c/kept').set({ n: 1 });
});
afterAll(async () => {
  await db.terminate();
  server.kill('SIGKILL');
});
afterEach(async () => {
  expect((await db.doc('c/kept').get()).data()).toEqual({ n: 1 });
  expect(server.exitCode).toBeNull();
});

async function open(): Promise<Socket> {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host).on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const SETTINGS = frame(4, 0, 0, Buffer.alloc(0));
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), SETTINGS]);

/** https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Headers without compression: https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
function headers(fields: Record<string, string>): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  const all = { ':method': 'POST', ':scheme': 'http', ':authority': 'localhost', ...fields };
  const encoded = Object.entries(all).map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)]));
  return frame(1, END_HEADERS, 1, Buffer.concat(encoded));
}

const END_HEADERS = 4;
const RESET = frame(3, 0, 1, Buffer.of(0, 0, 0, 8));
const path = (rpc: string) => `/google.firestore.v1.Firestore/${rpc}`;
const GRPC = { 'content-type': 'application/grpc' };

test('a connection that is reset before its first byte', async () => {
  for (let i = 0; i < 20; i++) (await open()).resetAndDestroy();
});

/** Sends bytes as the message of a call, and returns the error. */
async function callWith(rpc: string, bytes: Buffer): Promise<ServiceError> {
  const client = new Client(address, credentials.createInsecure());
  const passThrough = (message: Buffer): Buffer => message;
  const call = client.makeBidiStreamRequest(path(rpc), passThrough, passThrough);
  call.on('data', () => undefined);
  call.write(bytes);
  call.end();
  const [error] = (await once(call, 'error')) as [ServiceError];
  client.close();
  return error;
}

test.each(['Listen', 'Write', 'Commit', 'RunQuery', 'BatchGetDocuments'])('a damaged message of %s', async (rpc) => {
  for (const bytes of [Buffer.of(0xff), Buffer.of(0x0f), Buffer.from('not a message at all')]) {
    const { code, details } = await callWith(rpc, bytes);
    expect([code, details]).toEqual([3, expect.stringMatching(`^Malformed ${rpc} request: `)]);
  }
});

test('a message that says it is 512 MB is refused before it arrives', async () => {
  const session = connectHttp2(`http://${address}`);
  const request = session.request({ ':method': 'POST', ':path': path('Commit'), ...GRPC });
  request.resume().write(Buffer.of(0, 0x20, 0, 0, 0));
  const [trailers] = (await once(request, 'trailers')) as [IncomingHttpHeaders];
  expect(trailers).toMatchObject({ 'grpc-status': '3', 'grpc-message': expect.stringContaining('exceeds') as string });
  session.destroy();
});

test('2,000 connections with random bytes, resets and half messages', async () => {
  let seed = 1;
  /** A random integer below `max`: https://en.wikipedia.org/wiki/Linear_congruential_generator */
  const random = (max: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * max);
  };
  const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => random(256)));
  const rpcs = ['Commit', 'Listen', 'Write', 'RunQuery', 'BatchGetDocuments', 'Nothing'];
  const start = () => headers({ ':path': path(rpcs[random(rpcs.length)] ?? ''), ...(random(4) > 0 && GRPC) });
  const kinds: (() => Buffer)[] = [
    () => randomBytes(random(100)),
    () => Buffer.concat([PREFACE, randomBytes(random(200))]),
    () => PREFACE.subarray(0, random(PREFACE.length)),
    () => Buffer.concat([PREFACE, start(), frame(0, random(2), 1, randomBytes(random(50)))]),
    () => Buffer.concat([PREFACE, start(), frame(0, 1, 1, Buffer.of(0, 0, 0, 0, 5, random(256), random(256)))]),
    () => Buffer.concat([PREFACE, start(), RESET]),
    () => Buffer.concat([PREFACE, start(), frame(random(12), random(256), random(4), randomBytes(random(30)))]),
  ];
  for (let round = 0; round < 100; round++) {
    const sockets = await Promise.all(Array.from({ length: 20 }, open));
    for (const socket of sockets) socket.write(kinds[random(kinds.length)]?.() ?? '');
    await db.doc('c/kept').get();
    for (const socket of sockets) {
      if (random(2) === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
});
