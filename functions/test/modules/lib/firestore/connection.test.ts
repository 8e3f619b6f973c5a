import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { streamQuery } from '../../../../src/lib/firestore/query';
import { createWorkContext } from '../../../../src/lib/work-context';
import { useFirestoreEmulator } from '../../../support/firestore';

const PROJECT = 'demo-price-lists';
const DATABASE = `projects/${PROJECT}/databases/(default)`;

const keep = (message: Buffer) => message;

test('a call names its database, the value by which Google routes it, and its deadline', async () => {
  let call: ServerWritableStream<Buffer, Buffer> | undefined;
  const method = { path: '/google.firestore.v1.Firestore/RunQuery', requestStream: false, responseStream: true };
  const codec = {
    requestSerialize: keep,
    requestDeserialize: keep,
    responseSerialize: keep,
    responseDeserialize: keep,
  };
  const server = new Server();
  server.addService(
    { RunQuery: { ...method, ...codec } },
    {
      RunQuery: (received: ServerWritableStream<Buffer, Buffer>) => {
        call = received;
        received.end();
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  useFirestoreEmulator(`127.0.0.1:${port}`, PROJECT);

  const context = createWorkContext(new AbortController().signal);
  await streamQuery(context, { collection: 'orders', fields: [] }, () => null).next();
  expect(call?.metadata.getMap()).toMatchObject({
    'google-cloud-resource-prefix': DATABASE,
    'x-goog-request-params': `parent=${encodeURIComponent(`${DATABASE}/documents`)}`,
    authorization: 'Bearer owner',
  });
  const leftMs = Number(call?.getDeadline()) - Date.now();
  expect(leftMs).toBeGreaterThan(40_000);
  expect(leftMs).toBeLessThanOrEqual(45_000);
  server.forceShutdown();
});
