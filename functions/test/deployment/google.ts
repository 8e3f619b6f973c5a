import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { TLSSocket, createSecureContext } from 'node:tls';

/** A certificate of `firestore.googleapis.com` that only these tests trust, and its key. */
const CERTIFICATE = 'functions/test/deployment/fixtures/firestore-tls.pem';

/** Parts of Google Cloud that no emulator provides. */
export interface FakeGoogleCloud {
  /** Variables that make a process use it instead of Google Cloud. */
  environment: Record<string, string>;
  /** The requests that it received, in order: `CONNECT <host>`, and paths of the metadata server. */
  requests: string[];
  /** Seconds that a new access token is valid, and how many of the next requests for one get 503. */
  token: { lifetimeSeconds: number; refusals: number };
  close: () => Promise<void>;
}

/**
 * Imitates Google's metadata server at a loopback port. The same port is the proxy of every gRPC channel, and
 * connects the channels to an embedded Firestore, behind TLS with {@link CERTIFICATE}.
 */
export async function startFakeGoogleCloud(firestorePort: number): Promise<FakeGoogleCloud> {
  const pem = readFileSync(CERTIFICATE);
  const secureContext = createSecureContext({ key: pem, cert: pem });
  const requests: string[] = [];
  const token: FakeGoogleCloud['token'] = { lifetimeSeconds: 3600, refusals: 0 };
  const sockets = new Set<Socket>();

  const server = createServer(({ url = '' }, response) => {
    requests.push(url);
    response.setHeader('Metadata-Flavor', 'Google');
    if (url.includes('/token')) {
      const { lifetimeSeconds: expires_in, refusals } = token;
      if (refusals > 0) {
        token.refusals -= 1;
        response.writeHead(503).end('unavailable');
      } else response.end(JSON.stringify({ access_token: 'a-token', expires_in, token_type: 'Bearer' }));
    } else if (url.includes('universe')) response.end('googleapis.com');
    else response.end('{}');
  });
  server.on('connect', ({ url = '' }, socket: Socket) => {
    requests.push(`CONNECT ${url}`);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['h2'] });
    const firestore = connect(firestorePort, '127.0.0.1');
    for (const each of [socket, firestore]) sockets.add(each);
    for (const each of [secure, firestore]) each.on('error', () => undefined);
    secure.pipe(firestore).pipe(secure);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    environment: {
      GCE_METADATA_HOST: host,
      METADATA_SERVER_DETECTION: 'assume-present',
      grpc_proxy: `http://${host}`,
      GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: resolve(CERTIFICATE),
    },
    requests,
    token,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
