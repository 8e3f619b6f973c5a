import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { assertConforms } from '../../deploy/verify/conformance';
import { decodeBody } from '../../dev/run/http';
import type { RequestInfo } from '../../dev/run/received-response';
import { hostileRequest, type HostileRequest } from './hostile-requests';

/** The longest time for which a connection can stay open after the client has closed its side. */
const MAX_CONNECTION_MS = 60_000;

const CONNECTIONS = 16;

/** How long the client waits for a response. Then it half-closes, because a partial request would get its response much later. */
const RESPONSE_TIMEOUT_MS = 1_000;

/**
 * Sends hostile requests. Each has its own seed, so a request that finds a fault can be repeated alone.
 *
 * @returns the kinds of the checked responses, and the violations, each with its seed
 */
export async function fuzz(getPort: (request: HostileRequest) => number, count: number, seed: number) {
  const responses = new Set<string>();
  const violations: string[] = [];
  let next = seed;
  const work = async () => {
    while (next < seed + count) {
      const own = next++;
      for (const request of fc.sample(hostileRequest, { seed: own, numRuns: 1, unbiased: true })) {
        const { operation, bytes, end } = request;
        try {
          const received = await exchangeBytes(getPort(request), request);
          const [method = ''] = bytes.toString('latin1', 0, 20).split(' ', 1);
          // A connection that the client destroys can end at any byte, so its responses are not checked.
          if (end !== 'destroy')
            for (const kind of checkResponses(received, { operation, method })) responses.add(kind);
        } catch (error) {
          violations.push(`seed ${own}, ${operation}: ${String(error)}`);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return { responses, violations };
}

/** Sends a request and collects the received bytes until the connection ends. @throws Error if it does not end in time */
async function exchangeBytes(port: number, { bytes, pauseMs, end }: HostileRequest): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const received: Buffer[] = [];
  const closed = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    // The service can end the connection while the request is still being sent.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve());
  });
  const middle = pauseMs === undefined ? bytes.length : bytes.length / 2;
  socket.write(bytes.subarray(0, middle));
  await delay(pauseMs);
  if (!socket.destroyed) socket.write(bytes.subarray(middle));
  if (end === 'wait') await Promise.race([closed, delay(RESPONSE_TIMEOUT_MS)]);
  if (end === 'destroy') socket.destroy();
  else if (!socket.destroyed) socket.end();
  const isClosed = await Promise.race([closed.then(() => true), delay(MAX_CONNECTION_MS, false, { ref: false })]);
  socket.destroy();
  if (!isClosed) throw new Error(`the connection did not end within ${MAX_CONNECTION_MS} ms`);
  return Buffer.concat(received);
}

/** Statuses that Node's server, not the service, sends in responses without a body. */
const BARE = new Set([
  400, // not valid HTTP/1.1
  408, // a request that did not arrive in time
  413, // more than 16 KiB of chunk extensions
  417, // an expectation that is not 100-continue
  431, // a head of more than 16 KiB
]);

/**
 * Checks that the received bytes are complete responses in succession. Each has a status of {@link BARE} and no body, or
 * a status below 500 and the form that docs/openapi.json describes. Skips `100 Continue`.
 *
 * @returns the status and the kind of each response, such as `200 JSON` or `400 bare` @throws Error for another response
 */
function checkResponses(bytes: Buffer, request: RequestInfo): string[] {
  const kinds: string[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...fields] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    const headers: IncomingHttpHeaders = Object.fromEntries(
      fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
    );
    rest = rest.subarray(end + 4);
    if (status === 100) continue;
    // Only Node's own empty responses are chunked here, because the service chunks only longer ones.
    const isChunked = headers['transfer-encoding'] === 'chunked' && rest.subarray(0, 5).toString() === '0\r\n\r\n';
    const hasBody = request.method !== 'HEAD' && status !== 204 && !isChunked;
    const length = hasBody ? Number(headers['content-length'] ?? 0) : 0;
    const body = rest.subarray(0, length);
    rest = rest.subarray(isChunked ? 5 : body.length);
    if (end === -1 || status >= 500 || body.length < length)
      throw new Error(`an error or a part of a response: ${line}`);
    if (headers['content-type'] === undefined && body.length === 0 && BARE.has(status)) {
      kinds.push(`${status} bare`);
      continue;
    }
    const text = decodeBody(body, headers['content-encoding']).toString();
    const json = text === '' ? undefined : (JSON.parse(text) as unknown);
    assertConforms(request, { status, headers, bytes: body, text, json });
    kinds.push(status === 204 ? '204' : `${status} JSON`);
  }
  return kinds;
}
