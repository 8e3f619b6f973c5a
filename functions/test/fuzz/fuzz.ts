import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, spreadSeed } from '../../../local/sample/random';
import { checkResponses } from './responses';
import { hostileRequest, type HostileRequest } from './requests';

/** The longest time for which a request can keep its connection open, including its own pauses. */
export const MAX_CONNECTION_MS = 60_000;

const CONNECTIONS = 16;

/** How long to wait for a response before half-closing the connection, because a partial request gets none. */
const RESPONSE_TIMEOUT_MS = 1_000;

export interface FuzzReport {
  /** Number of responses by kind; `none` for a connection without a response, `destroyed` for one that the client destroyed. */
  responses: Map<string, number>;
  /** Violations, each with the seed that repeats it. */
  violations: string[];
}

/** Sends hostile requests. Each has its own seed, so a request that finds a fault can be repeated alone. */
export async function fuzz(
  port: (request: HostileRequest) => number,
  { count, seed }: { count: number; seed: number },
): Promise<FuzzReport> {
  const report: FuzzReport = { responses: new Map(), violations: [] };
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const own = seed + next++;
      const request = hostileRequest(createRandom(spreadSeed(own)));
      const { bytes, hung } = await exchangeBytes(port(request), request);
      const [method = ''] = (request.pieces[0]?.toString('latin1') ?? '').split(' ', 1);
      // A connection that the client destroys can end at any byte, so its responses are not checked.
      const { responses, violation } =
        request.end === 'destroy'
          ? { responses: ['destroyed'], violation: undefined }
          : checkResponses(bytes, { operation: request.operation, method });
      for (const response of responses.length > 0 ? responses : ['none']) {
        report.responses.set(response, (report.responses.get(response) ?? 0) + 1);
      }
      const violate = (what: string) =>
        report.violations.push(`seed ${own}, ${request.operation}, ${request.kind}: ${what}`);
      if (hung) violate(`no end within ${MAX_CONNECTION_MS} ms`);
      if (violation !== undefined) violate(violation);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return report;
}

/** Sends the pieces of a request and collects what it receives until the connection ends. */
async function exchangeBytes(
  port: number,
  { pieces, paceMs, end }: HostileRequest,
): Promise<{ bytes: Buffer; hung: boolean }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const received: Buffer[] = [];
  let hung = false;
  const closed = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    // The service can end the connection while the request is still being sent.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve());
  });
  const bound = setTimeout(() => {
    hung = true;
    socket.destroy();
  }, MAX_CONNECTION_MS);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece);
    await delay(paceMs);
  }
  if (end === 'wait') await Promise.race([closed, delay(RESPONSE_TIMEOUT_MS)]);
  if (end === 'destroy') socket.destroy();
  else if (!socket.destroyed) socket.end();
  await closed;
  clearTimeout(bound);
  return { bytes: Buffer.concat(received), hung };
}
