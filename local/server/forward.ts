import { request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { sendJson } from './functions-server';

/** Headers that concern one connection only, so a proxy does not forward them. */
const HOP_HEADERS = new Set(['connection', 'keep-alive', 'proxy-connection']);

/** Sends a request on to the server at `origin` and streams the response back. Either side's end ends the other. */
export function forwardRequest(request: IncomingMessage, response: ServerResponse, origin: string): void {
  const { hostname, port } = new URL(origin);
  const upstream = sendRequest({
    hostname,
    port,
    method: request.method,
    path: request.url,
    headers: removeHopHeaders(request.rawHeaders),
    agent: false,
  });
  upstream.on('response', (received) => {
    response.writeHead(received.statusCode ?? 502, received.statusMessage, removeHopHeaders(received.rawHeaders));
    received.on('error', () => response.destroy()).pipe(response);
  });
  upstream.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else sendJson(response, 502, { error: `The functions ended the connection: ${error.message}` });
  });
  request.pipe(upstream);
  response.on('close', () => upstream.destroy());
}

function removeHopHeaders(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => !HOP_HEADERS.has((rawHeaders[i - (i % 2)] ?? '').toLowerCase()));
}
