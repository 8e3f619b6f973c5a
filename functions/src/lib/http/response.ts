import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { brotliCompressSync, constants, createBrotliCompress, createGzip, gzipSync } from 'node:zlib';
import Negotiator from 'negotiator';

/** Bytes that an answer gathers before it goes over to chunks: under the platform's 32 MiB for a Content-Length. */
export const MAX_BUFFERED_RESPONSE_BYTES = 30_000_000;

/** Bytes from which on compressing an answer pays. */
const MIN_COMPRESSION_BYTES = 1024;

/** Bytes of text that are turned into one buffer: large enough to be cheap, small enough to hold memory flat. */
const STREAM_CHUNK_BYTES = 64 * 1024;

/** What an operation answers: a status, headers, and JSON text, whole or in pieces as it comes to be. */
export interface OutgoingResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: string | AsyncIterable<string>;
}

/**
 * Sends an answer. It is gathered, compressed where the caller accepts that, and sent with its Content-Length while it
 * is small enough for one; past {@link MAX_BUFFERED_RESPONSE_BYTES} what is there goes out, and the rest follows in chunks.
 *
 * Until then nothing has left, so that a failure of the body can still be answered with an error of its own. After
 * it, only {@link ServerResponse.destroy} tells the caller that the answer is not whole. A caller that has gone away ends the
 * reading of the body.
 *
 * @throws whatever the body throws
 */
export async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: OutgoingResponse,
): Promise<void> {
  const { status, headers = {}, body } = answer;
  const pieces = toChunks(typeof body === 'string' ? [body] : body);
  const [first, second] = [await pieces.next(), await pieces.next()];
  const bytes = first.value?.length ?? 0;
  const encoding = bytes >= MIN_COMPRESSION_BYTES ? negotiateEncoding(request) : undefined;

  const setResponseHeaders = () => {
    response.statusCode = status;
    response.appendHeader('Vary', 'Accept-Encoding');
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (encoding !== undefined) response.setHeader('Content-Encoding', encoding);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  };

  const buffered: Buffer[] = [];
  let bufferedBytes = 0;
  const encoded =
    second.done === true
      ? [compressSync(first.value ?? Buffer.alloc(0), encoding)]
      : compressStream(prepend([first, second], pieces), encoding);
  for await (const piece of encoded) {
    if (response.destroyed) return;
    if (response.headersSent) {
      await writeWithBackpressure(response, piece);
      continue;
    }
    buffered.push(piece);
    bufferedBytes += piece.length;
    if (bufferedBytes <= MAX_BUFFERED_RESPONSE_BYTES) continue;
    setResponseHeaders();
    for (const held of buffered.splice(0)) await writeWithBackpressure(response, held);
  }
  if (!response.headersSent) {
    setResponseHeaders();
    response.setHeader('Content-Length', bufferedBytes);
  }
  // Each by itself, since the buffer that held them all would be the largest of all.
  for (const held of buffered) response.write(held);
  response.end();
}

async function writeWithBackpressure(response: ServerResponse, piece: Buffer): Promise<void> {
  if (response.destroyed || response.write(piece)) return;
  const closed = new AbortController();
  const close = () => closed.abort();
  response.once('close', close);
  await once(response, 'drain', { signal: closed.signal }).catch(() => undefined);
  response.off('close', close);
}

async function* toChunks(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer, undefined> {
  let held = '';
  for await (const text of texts) {
    held += text;
    if (held.length < STREAM_CHUNK_BYTES) continue;
    yield Buffer.from(held);
    held = '';
  }
  if (held !== '') yield Buffer.from(held);
  return undefined;
}

async function* prepend<T>(begun: IteratorResult<T, undefined>[], rest: AsyncIterable<T>): AsyncGenerator<T> {
  for (const each of begun) if (each.done !== true) yield each.value;
  yield* rest;
}

type Encoding = 'br' | 'gzip';

/** The encoding that the caller likes best; of equals Brotli, which packs as fast as gzip and a quarter smaller. */
function negotiateEncoding(request: IncomingMessage): Encoding | undefined {
  const negotiator = new Negotiator(request) as {
    encoding(available: string[], options: { preferred: string[] }): string | undefined;
  };
  const encoding = negotiator.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return encoding === 'br' || encoding === 'gzip' ? encoding : undefined;
}

/** The levels beyond which a smaller answer costs more time than it saves (docs/performance.md). */
const GZIP = { level: 1, chunkSize: STREAM_CHUNK_BYTES };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 }, chunkSize: STREAM_CHUNK_BYTES };

/** A piece that is a whole answer: packed at once, which for so little is faster than in another thread. */
function compressSync(piece: Buffer, encoding: Encoding | undefined): Buffer {
  switch (encoding) {
    case undefined:
      return piece;
    case 'gzip':
      return gzipSync(piece, GZIP);
    case 'br':
      return brotliCompressSync(piece, BROTLI);
  }
}

function compressStream(pieces: AsyncIterable<Buffer>, encoding: Encoding | undefined): AsyncIterable<Buffer> {
  switch (encoding) {
    case undefined:
      return pieces;
    case 'gzip':
      return Readable.from(pieces).compose(createGzip(GZIP)) as AsyncIterable<Buffer>;
    case 'br':
      return Readable.from(pieces).compose(createBrotliCompress(BROTLI)) as AsyncIterable<Buffer>;
  }
}
