import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { hostileRequest, type HostileRequest } from './requests';
import { checkResponses } from './responses';

/** The longest time for which a request can keep its connection open, including its own pauses. */
const MAX_CONNECTION_MS = 60_000;

const CONNECTIONS = 16;

/** How long to wait for a response before half-closing the connection, because a partial request gets none. */
const RESPONSE_TIMEOUT_MS = 1_000;

/**
 * Sends hostile requests. Each has its own seed, so a request that finds a fault can be repeated alone.
 *
 * @returns the kinds of all responses, and the violations, each with its seed
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

/** Sends a request and collects what it receives until the connection ends. @throws Error if that takes too long */
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
  if (!isClosed) throw new Error(`no end within ${MAX_CONNECTION_MS} ms`);
  return Buffer.concat(received);
}
