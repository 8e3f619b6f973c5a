import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { TLSSocket, createSecureContext } from 'node:tls';
import { DEPLOY_PACKAGE, startDeployedFunction } from '../../dev/run/deployed';
import { DEPLOYED_KEY, sendTo, startDeployedPackage } from '../harness/deployed-package';
import { createPriceListBody } from '../harness/submissions';

/** The metadata server refuses access tokens for a while. The built package must retry on both of its channels. */

/** A certificate of `firestore.googleapis.com` that only this test trusts, and its private key. */
const CERTIFICATE = 'test/harness/firestore-tls.pem';

/** Number of requests that one renewal makes before it fails. */
const REQUESTS_PER_RENEWAL = 4;

/**
 * Imitates Google's metadata server at a loopback port. The same port is the proxy of every gRPC channel, and
 * connects the channels to an embedded Firestore, behind TLS with {@link CERTIFICATE}.
 */
async function startFakeGoogleCloud(firestorePort: number) {
  const pem = readFileSync(CERTIFICATE);
  const secureContext = createSecureContext({ key: pem, cert: pem });
  const sockets = new Set<Socket>();
  const cloud = { host: '', refusals: 0 };
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('Metadata-Flavor', 'Google');
    if (url.includes('universe')) response.end('googleapis.com');
    else if (!url.includes('/token')) response.end('{}');
    else if (cloud.refusals > 0) {
      cloud.refusals -= 1;
      response.writeHead(503).end('unavailable');
      // This lifetime is so short that each call renews its token.
    } else response.end(JSON.stringify({ access_token: 'a-token', expires_in: 1, token_type: 'Bearer' }));
  });
  server.on('connect', (_, socket: Socket) => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['h2'] });
    const firestore = connect(firestorePort, '127.0.0.1');
    for (const each of [socket, firestore]) sockets.add(each);
    for (const each of [secure, firestore]) each.on('error', () => undefined);
    secure.pipe(firestore).pipe(secure);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cloud.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  };
  return { cloud, close };
}

test('a read and a creation return 200 even if the metadata server refuses to renew the tokens of both channels for a while', async () => {
  const { firestore, close } = await startDeployedPackage();
  const { cloud, close: closeCloud } = await startFakeGoogleCloud(firestore.port);
  const env = {
    API_KEY: DEPLOYED_KEY,
    GCE_METADATA_HOST: cloud.host,
    METADATA_SERVER_DETECTION: 'assume-present',
    grpc_proxy: `http://${cloud.host}`,
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: resolve(CERTIFICATE),
  };
  const serve = (name: string) => startDeployedFunction(DEPLOY_PACKAGE, name, env);
  const [read, write] = await Promise.all([serve('getMarkets'), serve('addPriceLists')]);
  const getMarkets = async () => (await sendTo(read, 'getMarkets')).status;
  const addPriceLists = async (boq_list_id: string) =>
    (await sendTo(write, 'addPriceLists', createPriceListBody(3, { boq_list_id }))).status;

  expect([await getMarkets(), await addPriceLists('boq-1')]).toEqual([200, 200]);
  // The outage starts after the creation's first read.
  const begun = new Promise<void>((begin) => {
    const stop = firestore.observe(({ rpc }) => {
      if (rpc !== 'BatchGetDocuments') return;
      cloud.refusals = 2 * REQUESTS_PER_RENEWAL + 2;
      stop();
      begin();
    });
  });
  const creation = addPriceLists('boq-2');
  await begun;
  expect(await Promise.all([getMarkets(), creation])).toEqual([200, 200]);
  expect(cloud.refusals).toBe(0);
  await Promise.all([read.stop(), write.stop()]);
  closeCloud();
  await close();
});
