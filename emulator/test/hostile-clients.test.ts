import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Firestore } from '@google-cloud/firestore';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { connect as connectClient, spawnServer } from './support';

/* After each test, the server still runs and serves another client. It has its own process, so a test can notice a crash. */

let server: ChildProcess;
let address: string;
let db: Firestore;

beforeAll(async () => {
  ({ process: server, address } = await spawnServer());
  db = connectClient(address, 'kept');
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

/** Encodes a frame of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes a frame of headers without compression: https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
function headers(fields: Record<string, string>, stream = 1): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  const all = { ':method': 'POST', ':scheme': 'http', ':authority': 'localhost', ...fields };
  const encoded = Object.entries(all).map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)]));
  return frame(1, END_HEADERS, stream, Buffer.concat(encoded));
}

const END_HEADERS = 4;
const CANCEL = Buffer.of(0, 0, 0, 8);
const path = (rpc: string) => `/google.firestore.v1.Firestore/${rpc}`;
const GRPC = { 'content-type': 'application/grpc' };

test('the server accepts connections to 127.0.0.1 only', async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map((each) => each.address));
  for (const host of addresses.filter((each) => each !== '127.0.0.1')) {
    const socket = connect(Number(address.split(':')[1]), host);
    const connected = once(socket, 'connect').finally(() => socket.destroy());
    await expect(connected).rejects.toThrow(host);
  }
});

test('the server survives connections that are reset before their first byte', async () => {
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

test.each(['Commit', 'RunQuery', 'BatchGetDocuments'])('a damaged %s message is refused', async (rpc) => {
  for (const bytes of [Buffer.of(0xff), Buffer.of(0x0f), Buffer.from('not a message at all')]) {
    const { code, details } = await callWith(rpc, bytes);
    expect([code, details]).toEqual([3, expect.stringMatching(`^Malformed ${rpc} request: `)]);
  }
});

test('a message with a declared length of 512 MiB is refused before it arrives', async () => {
  const session = connectHttp2(`http://${address}`);
  const request = session.request({ ':method': 'POST', ':path': path('Commit'), ...GRPC });
  request.resume().write(Buffer.of(0, 0x20, 0, 0, 0));
  const [trailers] = (await once(request, 'trailers')) as [IncomingHttpHeaders];
  expect(trailers).toMatchObject({ 'grpc-status': '3', 'grpc-message': expect.stringContaining('exceeds') as string });
  session.destroy();
});

test('the server survives connections that end with unfinished messages', async () => {
  for (let i = 0; i < 20; i++) {
    const session = connectHttp2(`http://${address}`).on('error', () => undefined);
    for (let call = 0; call < 50; call++) {
      const request = session.request({ ':method': 'POST', ':path': path('Commit'), ...GRPC });
      request.on('error', () => undefined).write(Buffer.of(0, 0, 0, 0x80, 0));
    }
    await once(session, 'remoteSettings');
    session.destroy();
    await db.doc('c/kept').get();
  }
});

test('the server announces a limit of 100 concurrent calls on a connection', async () => {
  const session = connectHttp2(`http://${address}`);
  await once(session, 'remoteSettings');
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
  session.destroy();
});

/** Begins 20 messages of 10 MiB that never end. `refused` resolves with the reset code of the first call that the server resets. */
function beginLargeMessages(): { refused: Promise<number | undefined>; stop: () => void } {
  const LENGTH = 10 * 1024 * 1024;
  // In MB. With the default, this client would end some of its own calls.
  const session = connectHttp2(`http://${address}`, { maxSessionMemory: 1000 });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(LENGTH, 1);
  const ended = Array.from({ length: 20 }, () => {
    const request = session.request({ ':method': 'POST', ':path': path('Commit'), ...GRPC }).resume();
    request.write(Buffer.concat([head, Buffer.alloc(LENGTH - 1)]));
    request.on('error', () => undefined);
    return new Promise<number | undefined>((resolve) => request.once('close', () => resolve(request.rstCode)));
  });
  return { refused: Promise.race(ended), stop: () => session.destroy() };
}

test('the server refuses some of 20 messages of 10 MiB that never end', async () => {
  const { refused, stop } = beginLargeMessages();
  expect(await refused).toBe(constants.NGHTTP2_REFUSED_STREAM);
  stop();
});

test('the server survives 1,000 connections with random bytes, resets and unfinished messages', async () => {
  let seed = 1;
  /** Returns a random integer below `max`: https://en.wikipedia.org/wiki/Linear_congruential_generator */
  const random = (max: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * max);
  };
  const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => random(256)));
  const rpcs = ['Commit', 'Listen', 'Write', 'RunQuery', 'BatchGetDocuments', 'Nothing'];
  const calls: ((stream: number) => Buffer)[] = [
    (stream) => frame(0, random(2), stream, randomBytes(random(50))),
    (stream) => frame(0, 1, stream, Buffer.of(0, 0, 0, 0, 5, random(256), random(256))),
    (stream) => frame(0, 0, stream, Buffer.concat([Buffer.of(0, 0, 0, 0x80, 0), randomBytes(random(50))])),
    (stream) => frame(3, 0, stream, CANCEL),
    (stream) => frame(random(12), random(256), random(2 * stream), randomBytes(random(30))),
  ];
  /** Most calls of a connection are of one kind, because one call that breaks the protocol ends all others. */
  const openCalls = () => {
    const kind = random(calls.length);
    return Array.from({ length: 1 + random(50) }, (_, i) => {
      const stream = 1 + 2 * i;
      const start = headers({ ':path': path(rpcs[random(rpcs.length)] ?? ''), ...(random(4) > 0 && GRPC) }, stream);
      return Buffer.concat([start, calls[random(9) === 0 ? random(calls.length) : kind]?.(stream) ?? start]);
    });
  };
  const connections: (() => Buffer)[] = [
    () => randomBytes(random(100)),
    () => Buffer.concat([PREFACE, randomBytes(random(200))]),
    () => PREFACE.subarray(0, random(PREFACE.length)),
    ...Array.from({ length: 4 }, () => () => Buffer.concat([PREFACE, ...openCalls()])),
  ];
  for (let round = 0; round < 50; round++) {
    const sockets = await Promise.all(Array.from({ length: 20 }, open));
    for (const socket of sockets) socket.write(connections[random(connections.length)]?.() ?? '');
    await db.doc('c/kept').get();
    for (const socket of sockets) {
      if (random(2) === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
});

test('the server resets at least 600 of 6,000 calls with half a message, counted over all connections', async () => {
  const calls = Array.from({ length: 100 }, (_, i) => {
    const stream = 1 + 2 * i;
    const half = frame(0, 0, stream, Buffer.of(0, 0, 0, 0x80, 0, 1));
    return Buffer.concat([headers({ ':path': path('Commit'), ...GRPC }, stream), half]);
  });
  const sockets = await Promise.all(Array.from({ length: 60 }, open));
  /** Matches the frame that resets a call with REFUSED_STREAM. */
  const REFUSED = /\0\0\x04\x03\0[^]{4}\0\0\0\x07/g;
  const received = sockets.map(() => '');
  const countRefused = () => received.reduce((sum, text) => sum + (text.match(REFUSED)?.length ?? 0), 0);
  await new Promise<void>((resolve) => {
    for (const [i, socket] of sockets.entries()) {
      socket.on('data', (chunk: Buffer) => {
        received[i] = `${received[i]}${chunk.toString('latin1')}`;
        if (countRefused() >= 600) resolve();
      });
      socket.write(Buffer.concat([PREFACE, ...calls]));
    }
  });
  for (const socket of sockets) socket.destroy();
});

test('the memory of the server stays under 350 MB during the tests above', () => {
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1];
  expect(Number(peak) / 1000).toBeLessThan(350);
});

test('eight concurrent commits of 10 MB succeed while other messages never end', async () => {
  const { refused, stop } = beginLargeMessages();
  await refused;
  const text = 'x'.repeat(1_040_000);
  const commits = Array.from({ length: 8 }, (_, i) => {
    const batch = db.batch();
    for (let n = 0; n < 10; n++) batch.set(db.doc(`big/${10 * i + n}`), { text });
    return batch.commit();
  });
  await Promise.all(commits);
  stop();
});
