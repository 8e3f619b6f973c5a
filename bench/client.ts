import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import { BENCH_API_KEY } from './stack';

/** An HTTP client that reports bytes and times. */

export interface BenchRequest {
  method: 'GET' | 'POST';
  body?: Buffer;
  headers?: OutgoingHttpHeaders;
}

export interface BenchResponse {
  status: number;
  /** Whether the response has a Content-Length. */
  hasLength: boolean;
  bytes: number;
  /** The last 100 bytes, where a list has its count. */
  tail: string;
  /** Time to the first and to the last byte of the body, in ms. */
  firstByteMs: number;
  ms: number;
}

const agents = new Map<number, Agent>();

function getAgent(port: number): Agent {
  let agent = agents.get(port);
  if (!agent) agents.set(port, (agent = new Agent({ keepAlive: true })));
  return agent;
}

export function timeRequest(port: number, { method, body, headers }: BenchRequest): Promise<BenchResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<BenchResponse>();
  const startedAt = performance.now();
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    agent: getAgent(port),
    headers: {
      'x-api-key': BENCH_API_KEY,
      ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
      ...headers,
    },
  });
  sent.on('error', reject);
  sent.on('response', (response) => {
    let bytes = 0;
    let firstByteMs = 0;
    let last: Buffer = Buffer.alloc(0);
    let beforeLast: Buffer = last;
    response.on('data', (chunk: Buffer) => {
      if (bytes === 0) firstByteMs = performance.now() - startedAt;
      bytes += chunk.length;
      [beforeLast, last] = [last, chunk];
    });
    response.on('error', reject);
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response;
      const tail = Buffer.concat([beforeLast, last]).subarray(-100).toString();
      const hasLength = headers['content-length'] !== undefined;
      resolve({ status, hasLength, bytes, tail, firstByteMs, ms: performance.now() - startedAt });
    });
  });
  sent.end(body);
  return promise;
}

/** Requests per second with `connections` concurrent clients in a closed loop. */
export async function throughput(
  port: number,
  asked: BenchRequest,
  connections: number,
  forMs: number,
): Promise<number> {
  const startedAt = performance.now();
  let responses = 0;
  const connection = async () => {
    while (performance.now() - startedAt < forMs) {
      const { status } = await timeRequest(port, asked);
      if (status !== 200) throw new Error(`status ${status} under load`);
      responses += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return (responses * 1000) / (performance.now() - startedAt);
}

/** Sends headers that announce a body, and no body. @returns the status of the response */
export function sendHeadersOnly(
  port: number,
  bytes: number,
  headers: OutgoingHttpHeaders,
): Promise<BenchResponse['status']> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': bytes, ...headers },
  });
  const timeout = setTimeout(() => reject(new Error('no response before the body')), 5_000);
  sent.on('error', () => undefined);
  sent.on('response', ({ statusCode = 0 }) => {
    clearTimeout(timeout);
    resolve(statusCode);
    sent.destroy();
  });
  sent.flushHeaders();
  return promise;
}
