import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as functions from '../../src';
import type { OperationName } from '../support/operations';
import { TEST_API_KEY, useTestService } from '../support/service';

/**
 * Some responses are sent before the body has arrived, but some clients send the whole body before
 * they read. They get the response only if the service discards the rest of the body before it
 * closes the connection.
 */

const service = useTestService(functions);
beforeEach(() => {
  service.reset();
  // On a busy machine, the service must not give up a client that sends slowly.
  jest.useFakeTimers({ doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => jest.useRealTimers());

const MB = 1_000_000;
const MIB = 1_048_576;

interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  bodyBytes?: number;
}

/** Opens a connection that reads nothing, and sends the head of a request. */
async function openRaw(name: OperationName, { method = 'POST', headers = {}, bodyBytes = 8 * MB }: RawRequest) {
  const socket = connect(service.port(name), '127.0.0.1');
  socket.pause();
  await new Promise((resolve) => socket.once('connect', resolve));
  const all = { host: 'localhost', 'content-type': 'application/json', 'content-length': bodyBytes, ...headers };
  const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\r\n`);
  socket.write(`${method} / HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
}

/** Sends the whole request before it reads. Rejects if the connection breaks first. */
async function sendThenRead(name: OperationName, request: RawRequest) {
  const socket = await openRaw(name, request);
  const closed = new Promise((resolve, reject) => socket.once('close', resolve).once('error', reject));
  await new Promise<void>((resolve, reject) =>
    socket.write(Buffer.alloc(8 * MB, ' '), (error) => (error ? reject(error) : resolve())),
  );
  const [head = ''] = (await text(socket)).split('\r\n\r\n');
  await closed;
  return { status: Number(head.split(' ')[1]), head };
}

const WRONG_KEY = { 'x-api-key': 'wrong' };
const KEY = { 'x-api-key': TEST_API_KEY };
const TEXT = { ...KEY, 'content-type': 'text/plain' };

test.each<[string, OperationName, RawRequest, number]>([
  ['401', 'addPriceLists', { headers: WRONG_KEY }, 401],
  ['413 for its length', 'supplyOrdersInvoices', { headers: KEY }, 413],
  ['400 for its content type', 'addPriceLists', { headers: TEXT }, 400],
  ['204 for a preflight', 'getWarehouses', { method: 'OPTIONS' }, 204],
  ['200 of a list, which takes no body', 'getTeams', { method: 'GET', headers: KEY }, 200],
])('a client that sends 8 MB before it reads gets %s', async (_, name, request, status) => {
  const response = await sendThenRead(name, request);
  expect(response.status).toBe(status);
  expect(response.head).toMatch(/\r\nconnection: close(\r\n|$)/i);
});

test('a client with a wrong API key may send about 32 MiB before the connection closes', async () => {
  const socket = await openRaw('addPriceLists', { headers: WRONG_KEY, bodyBytes: 100 * MB });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined).resume();
  let sentBytes = 0;
  const piece = Buffer.alloc(64 * 1024);
  const send = () => {
    if (socket.destroyed || sentBytes >= 100 * MB) return;
    socket.write(piece, (error) => {
      if (error) return;
      sentBytes += piece.length;
      send();
    });
  };
  send();
  await closed;
  expect(sentBytes).toBeGreaterThan(31 * MIB);
  // Only what the operating system buffers may exceed 32 MiB.
  expect(sentBytes).toBeLessThan(48 * MIB);
});
