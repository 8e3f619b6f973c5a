import { Agent, request } from 'node:http';
import { BENCH_API_KEY } from './stack';

/** An HTTP client that keeps its connections. */

export interface BenchRequest {
  method: 'GET' | 'POST';
  body?: Buffer;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request once. @returns the ms until the last byte @throws Error unless the response is a complete 200 */
export async function sendOk(port: number, { method, body }: BenchRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    agent,
    headers: {
      'x-api-key': BENCH_API_KEY,
      ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
    },
  });
  sent.on('error', reject);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const ms = performance.now() - startedAt;
      const text = Buffer.concat(chunks).toString('utf8', 0, 200);
      if (response.statusCode === 200) resolve(ms);
      else reject(new Error(`A request of the benchmark got ${response.statusCode}: ${text}`));
    });
  });
  sent.end(body);
  return promise;
}

/** Measures the requests per second of `connections` clients. Each sends its next request after a response. */
export async function measureThroughput(
  port: number,
  asked: BenchRequest,
  connections: number,
  forMs: number,
): Promise<number> {
  // Begins with new connections, because the server may close a connection that was idle for 5 s just as a request is sent on it.
  agent.destroy();
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
