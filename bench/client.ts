import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import { KEY } from './stack';

/** HTTP as a caller has it who wants the bytes and the times. */

export interface Asked {
  method: 'GET' | 'POST';
  body?: Buffer;
  headers?: OutgoingHttpHeaders;
}

export interface Answered {
  status: number;
  /** Whether the answer came with its length, and not in chunks. */
  hasLength: boolean;
  bytes: number;
  /** The last hundred bytes or so, where a list has its count. */
  tail: string;
  /** Milliseconds until the first byte of the body, and until the last. */
  firstByteMs: number;
  ms: number;
}

const agents = new Map<number, Agent>();

/** Connections that are kept, so many to a port. */
function agentOf(port: number): Agent {
  let agent = agents.get(port);
  if (!agent) agents.set(port, (agent = new Agent({ keepAlive: true })));
  return agent;
}

export function ask(port: number, { method, body, headers }: Asked): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const started_at = performance.now();
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    agent: agentOf(port),
    headers: {
      'x-api-key': KEY,
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
      if (bytes === 0) firstByteMs = performance.now() - started_at;
      bytes += chunk.length;
      [beforeLast, last] = [last, chunk];
    });
    response.on('error', reject);
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response;
      const tail = Buffer.concat([beforeLast, last]).subarray(-100).toString();
      const hasLength = headers['content-length'] !== undefined;
      resolve({ status, hasLength, bytes, tail, firstByteMs, ms: performance.now() - started_at });
    });
  });
  sent.end(body);
  return promise;
}

/** Answers a second, with so many connections that each ask again as soon as they are answered. */
export async function throughput(port: number, asked: Asked, connections: number, forMs: number): Promise<number> {
  const started_at = performance.now();
  let answers = 0;
  const connection = async () => {
    while (performance.now() - started_at < forMs) {
      const { status } = await ask(port, asked);
      if (status !== 200) throw new Error(`status ${status} under load`);
      answers += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return (answers * 1000) / (performance.now() - started_at);
}

/**
 * Sends a head that promises a body, and no byte of it until an answer is there, or sends all of it regardless.
 * @returns the status and when it came; undefined milliseconds... when none came
 */
export function askWithoutBody(port: number, bytes: number, headers: OutgoingHttpHeaders): Promise<Answered['status']> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': bytes, ...headers },
  });
  const timeout = setTimeout(() => reject(new Error('no answer before the body')), 5_000);
  sent.on('error', () => undefined);
  sent.on('response', ({ statusCode = 0 }) => {
    clearTimeout(timeout);
    resolve(statusCode);
    sent.destroy();
  });
  sent.flushHeaders();
  return promise;
}
