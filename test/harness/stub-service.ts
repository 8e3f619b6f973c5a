import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Serves responses that a test chooses. */

export interface Stub {
  url: string;
  /** The bodies of the requests that have arrived completely. */
  bodies: Buffer[];
}

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close().closeAllConnections()));

/** Starts a server that sends these responses, one for each request, and then 418. The server closes at the end of the test file. */
export async function startStub(responses: RequestListener[]): Promise<Stub> {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      bodies.push(body);
      (responses.shift() ?? respond(418, 'a request too many'))(request, response);
    });
  });
  servers.push(server);
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

export function respond(status: number, body: string, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => {
    response.writeHead(status, { 'X-Request-Id': 'request-7', ...headers }).end(body);
  };
}
