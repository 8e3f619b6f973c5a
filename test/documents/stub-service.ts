import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A server that sends chosen responses in place of the service. */

export interface Stub {
  url: string;
  requests: IncomingMessage[];
  /** The bodies that it received, one for each request. */
  bodies: Buffer[];
  close: () => void;
}

/** Starts a server that sends these responses, one for each request, and 418 to any further one. */
export async function startStub(responses: RequestListener[]): Promise<Stub> {
  const requests: IncomingMessage[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      requests.push(request);
      bodies.push(body);
      (responses.shift() ?? respond(418, 'a request too many'))(request, response);
    });
  });
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, bodies, close };
}

export function respond(status: number, body: string, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => {
    response.writeHead(status, { 'X-Request-Id': 'request-7', ...headers }).end(body);
  };
}
