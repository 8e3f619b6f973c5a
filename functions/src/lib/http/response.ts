import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { ApiError, ClientGoneError } from '../errors';
import { measurePhase, type WorkContext } from '../work-context';
import type { MemoryShare } from './memory-budget';

/** A larger stream is sent in chunks, because the platform allows at most 32 MiB with a Content-Length. */
export const MAX_BUFFERED_RESPONSE_BYTES = 30_000_000;

/** A smaller response fits into one or two packets, so compression would hardly save time. */
export const MIN_COMPRESSION_BYTES = 1024;

const STREAM_CHUNK_BYTES = 64 * 1024;

/** Higher levels take much longer, and make responses only slightly smaller. */
const COMPRESSION_LEVEL = 1;

/** If a response is sent before its request is complete, the rest of the request is discarded for at most this long. */
export const LINGER = { idleMs: 2_000, maxMs: 5_000 };

export interface OutgoingResponse {
  /** Default: 200. */
  status?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** JSON text, complete or in chunks; undefined for a response without a body. */
  body?: string | AsyncIterable<string> | undefined;
}

type ClientContext = Pick<WorkContext, 'signal' | 'counters'>;

/**
 * Sends a response, compressed if it is large enough and the client prefers gzip. A text is buffered and sent with its
 * Content-Length. So is a stream that takes at most {@link MAX_BUFFERED_RESPONSE_BYTES} as it is sent, and fits into the
 * memory share. Of any other stream, the buffer is sent, and what remains follows in chunks.
 *
 * While the response is buffered, an error of the body can still become an error response. After
 * that, only {@link ServerResponse.destroy} tells the client that the response is incomplete. The
 * body is no longer read once the client has disconnected.
 *
 * @param context its signal ends the wait for a client that reads slowly; a signal that has already aborted is ignored
 * @throws ClientGoneError if the client left, or got another response, before the operating system had the whole response
 * @throws what the body throws, and ApiError request_timeout
 */
export async function sendResponse(
  response: ServerResponse,
  outgoing: OutgoingResponse,
  context: ClientContext,
  share: MemoryShare,
): Promise<void> {
  const { body } = outgoing;
  const isStream = typeof body === 'object';
  const chunks = toChunks(isStream ? body : [body ?? '']);
  const { value: first = Buffer.alloc(0) } = await chunks.next();
  const canBuffer = (bytes: number) => !isStream || (bytes <= MAX_BUFFERED_RESPONSE_BYTES && share.tryResize(bytes));
  const send = async (encoded: AsyncIterable<Buffer>, encoding: Record<string, string>) => {
    const buffered: Buffer[] = [];
    let bytes = 0;
    let hasBegun = false;
    for await (const chunk of encoded) {
      assertConnected(response);
      buffered.push(chunk);
      bytes += chunk.length;
      if (!hasBegun && canBuffer(bytes)) continue;
      if (!hasBegun) setHead(response, outgoing, encoding);
      hasBegun = true;
      for (const held of buffered.splice(0)) await writeAtClientsPace(response, held, context);
      share.release();
    }
    assertConnected(response);
    if (!hasBegun) setHead(response, outgoing, { ...encoding, 'Content-Length': bytes });
    // Chunks are written one by one, because joining them would double their memory.
    for (const held of buffered) response.write(held);
  };

  const all = prepend(first, chunks);
  if (first.length >= MIN_COMPRESSION_BYTES && acceptsGzip(response.req)) {
    const gzip = createGzip({ level: COMPRESSION_LEVEL, chunkSize: STREAM_CHUNK_BYTES });
    // `pipeline` ends all its streams after an error of any of them, and throws that error.
    await pipeline(all, gzip, (encoded: AsyncIterable<Buffer>) => send(encoded, { 'Content-Encoding': 'gzip' }));
  } else {
    await send(all, {});
  }
  // Sends the head of a response without a body.
  response.flushHeaders();
  await waitForClient(response, context, (done) => response.write('', done));
  if (response.req.complete) response.end();
  else lingerAndClose(response);
}

/** @throws ClientGoneError if the client has got another response, such as the 500 of a stop */
function setHead(
  response: ServerResponse,
  { status = 200, headers, body }: OutgoingResponse,
  bodyHeaders: Record<string, string | number>,
): void {
  if (response.headersSent) throw new ClientGoneError('the client got another response');
  response.statusCode = status;
  if (body !== undefined) response.appendHeader('Vary', 'Accept-Encoding');
  const all = {
    ...COMMON_HEADERS,
    ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8', ...bodyHeaders }),
    // The connection is not used again after a response to an incomplete request, because the client may never complete its body.
    ...(!response.req.complete && { Connection: 'close' }),
    ...headers,
  };
  for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
}

/** @throws ClientGoneError */
function assertConnected(response: ServerResponse): void {
  if (response.destroyed) throw new ClientGoneError('the client left before its response was complete');
}

const COMMON_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Yields buffers of at least {@link STREAM_CHUNK_BYTES}, except for the last. */
async function* toChunks(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer, undefined> {
  let held = '';
  for await (const text of texts) {
    held += text;
    if (held.length < STREAM_CHUNK_BYTES) continue;
    yield Buffer.from(held);
    held = '';
  }
  if (held !== '') yield Buffer.from(held);
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

const acceptsGzip = (request: IncomingMessage): boolean =>
  new Negotiator(request).encodings(['gzip', 'identity'])[0] === 'gzip';

async function writeAtClientsPace(response: ServerResponse, chunk: Buffer, context: ClientContext): Promise<void> {
  assertConnected(response);
  if (!response.write(chunk)) await waitForClient(response, context, (done) => response.once('drain', done));
}

/**
 * Calls `start`, and waits until `done` is called.
 *
 * @throws ClientGoneError if `done` gets an error, or if the client leaves
 * @throws ApiError request_timeout
 */
async function waitForClient(
  response: ServerResponse,
  { signal, counters }: ClientContext,
  start: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const leave = () => reject(new ClientGoneError('the client left before its response was complete'));
  const abort = () => reject(new ApiError('request_timeout', 'the client did not read the response in time'));
  response.once('close', leave);
  signal.addEventListener('abort', abort);
  start((error) => (error ? leave() : resolve(undefined)));
  try {
    await measurePhase(counters, 'client', () => promise);
  } finally {
    response.off('close', leave);
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Discards the rest of the request's body, for at most the time of {@link LINGER}, and then closes the connection (nginx calls
 * this a lingering close). If the service closed it at once, a client that is still sending could lose the response. A
 * client learns only at this close that a response without a Content-Length is complete.
 */
function lingerAndClose(response: ServerResponse): void {
  const { req: request } = response;
  const close = () => void response.end();
  const idle = setTimeout(close, LINGER.idleMs);
  const total = setTimeout(close, LINGER.maxMs);
  request.on('data', () => idle.refresh());
  finished(request, () => {
    clearTimeout(idle);
    clearTimeout(total);
    close();
  });
}
