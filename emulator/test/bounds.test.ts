import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { startFirestoreTestServer, type FirestoreTestServer } from './support';

/* Tests which connections, calls and messages the server accepts. */

let bench: FirestoreTestServer;
let address: string;
beforeAll(async () => {
  bench = await startFirestoreTestServer();
  ({ address } = bench.server);
});
afterAll(() => bench.close());

const path = (rpc: string) => `/google.firestore.v1.Firestore/${rpc}`;

test('the server accepts connections to 127.0.0.1 only', async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map((each) => each.address));
  for (const host of addresses.filter((each) => each !== '127.0.0.1')) {
    const socket = connect(bench.server.port, host);
    const connected = once(socket, 'connect').finally(() => socket.destroy());
    await expect(connected).rejects.toThrow(host);
  }
});

test('the server closes the 101st connection, and serves a new one after the others have closed', async () => {
  const open = async (): Promise<Socket> => {
    const socket = connect(bench.server.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const sockets: Socket[] = [];
  for (let i = 0; i < 100; i++) sockets.push(await open());
  await once((await open()).resume(), 'close');
  for (const socket of sockets) socket.resetAndDestroy();
  await bench.client().doc('c/a').set({ n: 1 });
});

test('the server announces a limit of 100 concurrent calls on a connection', async () => {
  const session = connectHttp2(`http://${address}`);
  await once(session, 'remoteSettings');
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
  session.destroy();
});

test('a message with a declared length of 512 MiB is refused before it arrives', async () => {
  const session = connectHttp2(`http://${address}`);
  const request = session.request({ ':method': 'POST', ':path': path('Commit'), 'content-type': 'application/grpc' });
  request.resume().write(Buffer.of(0, 0x20, 0, 0, 0));
  const [trailers] = (await once(request, 'trailers')) as [IncomingHttpHeaders];
  expect(trailers).toMatchObject({ 'grpc-status': '3', 'grpc-message': expect.stringContaining('exceeds') as string });
  session.destroy();
});

test.each(['Commit', 'RunQuery', 'BatchGetDocuments'])('a damaged %s message is refused', async (rpc) => {
  const client = new Client(address, credentials.createInsecure());
  const passThrough = (message: Buffer): Buffer => message;
  for (const bytes of [Buffer.of(0xff), Buffer.of(0x0f), Buffer.from('not a message at all')]) {
    const call = client.makeBidiStreamRequest(path(rpc), passThrough, passThrough);
    call.on('data', () => undefined);
    call.end(bytes);
    const [{ code, details }] = (await once(call, 'error')) as [ServiceError];
    expect([code, details]).toEqual([3, expect.stringMatching(`^Malformed ${rpc} request: `)]);
  }
  client.close();
});
