import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { BENCH_API_KEY } from './stack';

/** An HTTP client that keeps its connections. */

export interface BenchRequest {
  method: 'GET' | 'POST' | 'PUT';
  body?: Buffer;
  key?: string;
}

export interface BenchResponse {
  /** 0: the connection was refused, or closed without a response. */
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Time to the last byte, in ms. */
  ms: number;
  /** Whether an earlier request used the connection, which the server may close when it is idle. */
  isReusedConnection: boolean;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request once. Never rejects. */
export function send(port: number, asked: BenchRequest): Promise<BenchResponse> {
  const { method, body, key = BENCH_API_KEY } = asked;
  const { promise, resolve } = Promise.withResolvers<BenchResponse>();
  const startedAt = performance.now();
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    agent,
    headers: {
      'x-api-key': key,
      ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
    },
  });
  const end = (status: number, headers: IncomingHttpHeaders, content: Buffer) => {
    const ms = performance.now() - startedAt;
    resolve({ status, headers, body: content, ms, isReusedConnection: sent.reusedSocket });
  };
  const onError = ({ message }: Error) => end(0, {}, Buffer.from(message));
  sent.on('error', onError);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', onError);
    const { statusCode = 0 } = response;
    response.on('end', () => end(statusCode, response.headers, Buffer.concat(chunks)));
  });
  sent.end(body);
  return promise;
}

/** @throws unless the response is a 200 */
export async function sendOk(port: number, request: BenchRequest): Promise<BenchResponse> {
  const response = await send(port, request);
  if (response.status === 200) return response;
  const text = response.body.toString('utf8', 0, 200);
  throw new Error(`a request of the bench failed with ${response.status}: ${text}`);
}

/** Requests per second with `connections` concurrent clients in a closed loop. */
export async function measureThroughput(
  port: number,
  asked: BenchRequest,
  connections: number,
  forMs: number,
): Promise<number> {
  const startedAt = performance.now();
  let responses = 0;
  const connection = async () => {
    while (performance.now() - startedAt < forMs) {
      await sendOk(port, asked);
      responses += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return (responses * 1000) / (performance.now() - startedAt);
}
