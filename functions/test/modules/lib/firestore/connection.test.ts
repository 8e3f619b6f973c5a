import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { Firestore } from 'firebase-admin/firestore';
import { CHANNEL_OPTIONS, getConnection } from '../../../../src/lib/firestore/connection';
import { streamQuery } from '../../../../src/lib/firestore/query';
import { retry } from '../../../../src/lib/firestore/retry';
import { createWorkContext } from '../../../../src/lib/work-context';
import { useFirestoreEmulator } from '../../../support/firestore';

const PROJECT = 'demo-price-lists';
const DATABASE = `projects/${PROJECT}/databases/(default)`;

const keep = (message: Buffer) => message;

const query = { collection: 'orders', fields: [] };

afterEach(() => jest.restoreAllMocks());

/** Serves queries, which have no documents. @returns the port, the last call, and a function that ends the server */
async function startServer() {
  const method = { path: '/google.firestore.v1.Firestore/RunQuery', requestStream: false, responseStream: true };
  const bytes = { requestDeserialize: keep, responseSerialize: keep };
  const unused = { requestSerialize: keep, responseDeserialize: keep };
  const calls: ServerWritableStream<Buffer, Buffer>[] = [];
  const server = new Server();
  const serve = (call: ServerWritableStream<Buffer, Buffer>) => {
    calls.push(call);
    call.end();
  };
  server.addService({ RunQuery: { ...method, ...bytes, ...unused } }, { RunQuery: serve });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return { calls, port, close: () => server.forceShutdown() };
}

test('a connection that could not be opened is opened by the next call, which names its database, route and deadline', async () => {
  const { calls, port, close } = await startServer();
  useFirestoreEmulator(`127.0.0.1:${port}`, PROJECT);
  const config = jest.replaceProperty(process, 'env', { ...process.env, GCLOUD_PROJECT: undefined });
  await expect(getConnection()).rejects.toThrow('Project Id');
  config.restore();

  const context = createWorkContext(new AbortController().signal);
  await streamQuery(context, query, () => null).next();
  const [call] = calls;
  expect(call?.metadata.getMap()).toMatchObject({
    'google-cloud-resource-prefix': DATABASE,
    'x-goog-request-params': `parent=${encodeURIComponent(`${DATABASE}/documents`)}`,
    authorization: 'Bearer owner',
  });
  const leftMs = Number(call?.getDeadline()) - Date.now();
  expect(leftMs).toBeGreaterThan(40_000);
  expect(leftMs).toBeLessThanOrEqual(45_000);
  close();
});

test('the channels ping every 30 s, wait 10 s for the reply, and connect again after at most 5 s', () => {
  expect(CHANNEL_OPTIONS).toEqual({
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.max_reconnect_backoff_ms': 5_000,
  });
});

test.each(['queries', 'the SDK'])('the channel of %s has these options', async (channel) => {
  let tries = 0;
  const refusing = createServer((socket) => {
    tries += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  useFirestoreEmulator(`127.0.0.1:${(refusing.address() as AddressInfo).port}`, PROJECT);
  const end = new AbortController();
  const context = createWorkContext(end.signal);
  const client = new Firestore({ projectId: PROJECT });
  const calls: Promise<unknown>[] = [];
  await jest.isolateModulesAsync(async () => {
    const { CHANNEL_OPTIONS: options } = await import('../../../../src/lib/firestore/connection');
    // A fiftieth of the real times. If this pause were longer than 100 ms, ten tries would take more than 12 s.
    for (const [option, ms] of Object.entries(options))
      jest.replaceProperty(options, option as keyof typeof options, ms / 50);
    if (channel === 'queries') {
      const { streamQuery } = await import('../../../../src/lib/firestore/query');
      calls.push(streamQuery(context, query, () => null).next());
    } else {
      const { configureClient, createDatabase } = await import('../../../../src/lib/firestore/database');
      const db = createDatabase(configureClient(client), context);
      calls.push(retry(() => db.getAll(client.doc('a/b')), context, 'outage'));
    }
  });
  const endsAt = performance.now() + 12_000;
  while (tries < 10 && performance.now() < endsAt) await delay(20);
  expect(tries).toBeGreaterThanOrEqual(10);
  end.abort(new Error('the test ends'));
  await Promise.allSettled(calls);
  await client.terminate();
  refusing.close();
});
