import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { ApiError } from '../errors';
import { measurePhase, type WorkContext } from '../work-context';

/** A larger response is sent in chunks, because the platform allows at most 32 MiB with a Content-Length. */
const MAX_BUFFERED_RESPONSE_BYTES = 30_000_000;

/** A smaller response fits into one or two packets, so compression would hardly save time. */
const MIN_COMPRESSION_BYTES = 1024;

const STREAM_CHUNK_BYTES = 64 * 1024;

/** If a response is sent before its request is complete, the rest of the request is discarded for at most this long. */
const LINGER = { idleMs: 2_000, maxMs: 5_000 };

export interface OutgoingResponse {
  /** Default: 200. */
  status?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** JSON text, complete or in chunks; undefined for a response without a body. */
  body?: string | AsyncIterable<string> | undefined;
}

type ClientContext = Pick<WorkContext, 'signal' | 'counters'>;

/**
 * Sends a response, compressed if it is large enough and the client accepts that. Up to
 * {@link MAX_BUFFERED_RESPONSE_BYTES} it is buffered and sent with its Content-Length. If it is
 * larger, the buffer is sent, and what remains follows in chunks.
 *
 * While the response is buffered, an error of the body can still become an error response. After
 * that, only {@link ServerResponse.destroy} tells the client that the response is incomplete. The
 * body is no longer read once the client has disconnected.
 *
 * @param context its signal ends the wait for a client that reads slowly; a signal that has already aborted is ignored
 * @returns whether the operating system has the whole response; false if the client left, or got another one, before that
 * @throws what the body throws, and ApiError request_timeout
 */
export async function sendResponse(
  response: ServerResponse,
  { status = 200, headers = {}, body }: OutgoingResponse,
  context: ClientContext,
): Promise<boolean> {
  const chunks = toChunks(typeof body === 'object' ? body : [body ?? '']);
  const { value: first = Buffer.alloc(0) } = await chunks.next();
  const isGzip = first.length >= MIN_COMPRESSION_BYTES && acceptsGzip(response.req);
  const begin = (length?: number) => {
    response.statusCode = status;
    if (body !== undefined) response.appendHeader('Vary', 'Accept-Encoding');
    const all = {
      ...COMMON_HEADERS,
      ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }),
      ...(isGzip && { 'Content-Encoding': 'gzip' }),
      ...(body !== undefined && length !== undefined && { 'Content-Length': length }),
      // The connection is not used again after a response to an incomplete request, because the body may never end.
      ...(!response.req.complete && { Connection: 'close' }),
      ...headers,
    };
    for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
  };

  const buffered: Buffer[] = [];
  let bytes = 0;
  const all = prepend(first, chunks);
  for await (const chunk of isGzip ? gzip(all) : all) {
    const hasBegun = bytes > MAX_BUFFERED_RESPONSE_BYTES;
    if (response.destroyed || response.headersSent !== hasBegun) return false;
    buffered.push(chunk);
    bytes += chunk.length;
    if (bytes <= MAX_BUFFERED_RESPONSE_BYTES) continue;
    if (!hasBegun) begin();
    for (const held of buffered.splice(0)) await writeAtClientsPace(response, held, context);
  }
  const hasBegun = bytes > MAX_BUFFERED_RESPONSE_BYTES;
  if (response.destroyed || response.headersSent !== hasBegun) return false;
  if (!hasBegun) begin(bytes);
  // Chunks are written one by one, because joining them would double their memory.
  for (const held of buffered) response.write(held);
  // Sends the head of a response without a body.
  response.flushHeaders();
  const isSent = await waitForClient(response, context, (done) => response.write('', done));
  if (response.req.complete) response.end();
  else lingerAndClose(response);
  return isSent;
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

/** Level 1, because higher ones take much longer, and make responses only slightly smaller. */
const gzip = (chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  Readable.from(chunks).compose(createGzip({ level: 1, chunkSize: STREAM_CHUNK_BYTES })) as AsyncIterable<Buffer>;

async function writeAtClientsPace(response: ServerResponse, chunk: Buffer, context: ClientContext): Promise<void> {
  if (response.destroyed || response.write(chunk)) return;
  await waitForClient(response, context, (done) => response.once('drain', done));
}

/**
 * Calls `start`, and waits until it calls `done` or the client leaves.
 *
 * @returns false for an error of `done`, or if the client left
 * @throws ApiError request_timeout
 */
async function waitForClient(
  response: ServerResponse,
  { signal, counters }: ClientContext,
  start: (done: (error?: Error | null) => void) => void,
): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const leave = () => resolve(false);
  const abort = () => reject(new ApiError('request_timeout', 'the client did not read the response in time'));
  response.once('close', leave);
  signal.addEventListener('abort', abort);
  start((error) => resolve(!error));
  try {
    return await measurePhase(counters, 'client', () => promise);
  } finally {
    response.off('close', leave);
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Discards the rest of the request's body for the time of {@link LINGER}, and then closes the connection (nginx calls
 * this a lingering close). If it closed at once, a client that is still sending could lose the response. If the
 * response has no Content-Length, the client learns only then that it is complete.
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
