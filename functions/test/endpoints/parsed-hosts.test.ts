import { createServer, IncomingMessage, ServerResponse, type Server } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import express from 'express';
import functionsTest from 'firebase-functions-test';
import type { Request as HostRequest } from 'firebase-functions/v2/https';
import { getOrdersByTeam } from '../../src/get-orders-by-team';
import { TEST_PROJECT } from '../support/firestore';
import { assertResponse } from '../support/responses';
import { sendRequest } from '../support/http';
import { operations } from '../support/operations';
import { TEST_API_KEY, useTestService } from '../support/service';

const service = useTestService({ getOrdersByTeam });
beforeEach(() => service.reset());

const { body } = operations.getOrdersByTeam;
const HEADERS = { 'x-api-key': TEST_API_KEY, 'content-type': 'application/json' };

describe('a request whose body the host has already read and inflated, of any type', () => {
  let host: Server;
  let read: boolean;
  beforeAll(async () => {
    const app = express().disable('x-powered-by');
    const verify = (request: IncomingMessage, _: unknown, bytes: Buffer) =>
      void Object.assign(request, { rawBody: bytes });
    app.use(express.raw({ type: () => true, limit: '1gb', verify }));
    app.use((request, response) => {
      read = request.readableEnded;
      return getOrdersByTeam(request as HostRequest, response);
    });
    host = createServer(app);
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => host.close(resolve)));

  const call = async (sent: string | Buffer, headers: object = {}) => {
    const all = { ...HEADERS, ...headers };
    const response = await sendRequest((host.address() as AddressInfo).port, {
      method: 'POST',
      headers: all,
      body: sent,
    });
    assertResponse({ operation: 'getOrdersByTeam', method: 'POST' }, response);
    return response;
  };

  test('is served from the kept bytes', async () => {
    expect((await call(JSON.stringify(body))).json).toEqual({ count: 0, orders: {} });
    const packed = gzipSync(JSON.stringify(body));
    expect((await call(packed, { 'content-encoding': 'gzip' })).status).toBe(200);
    expect(read).toBe(true);
  });
});

describe('a unit test of firebase-functions-test', () => {
  let cleanUp: () => void;
  beforeAll(() => {
    const { cleanup } = functionsTest({ projectId: TEST_PROJECT });
    cleanUp = () => cleanup();
  });
  afterAll(() => cleanUp());

  /** Calls the function with a request that was never sent over a connection. */
  async function called(rawBody: string): Promise<{ status: number; json: unknown }> {
    const request = Object.assign(new IncomingMessage(new Socket()), {
      method: 'POST',
      rawBody: Buffer.from(rawBody),
      complete: true,
    });
    for (const [name, value] of Object.entries(HEADERS)) {
      request.headers[name] = value;
      request.rawHeaders.push(name, value);
    }
    const response = new ServerResponse(request);
    const sent: Buffer[] = [];
    response.assignSocket(new PassThrough().on('data', (bytes: Buffer) => sent.push(bytes)) as unknown as Socket);
    const finished = new Promise((resolve) => response.on('finish', resolve));
    await getOrdersByTeam(request as never, response as never);
    await finished;
    const text = Buffer.concat(sent).toString();
    return { status: response.statusCode, json: JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) };
  }

  test('gets its response', async () => {
    const order = { team_id: 'team-1', created_at: Date.UTC(2026, 0, 5) };
    await service.db.doc('orders/order-1').set(order);
    expect(await called(JSON.stringify(body))).toMatchObject({ status: 200, json: { count: 1 } });
    expect(await called('{')).toMatchObject({ status: 400, json: { errors: [{ path: 'body' }] } });
  });
});
