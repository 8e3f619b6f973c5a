import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliCompress, createGzip, constants } from 'node:zlib';
import Negotiator from 'negotiator';

/** Bytes that an answer gathers before it goes over to chunks: under the platform's 32 MiB for a Content-Length. */
export const WHOLE_ANSWER_BYTES = 30_000_000;

/** Bytes from which on compressing an answer pays. */
const COMPRESSED_FROM_BYTES = 1024;

/** Bytes of text that are turned into one buffer: large enough to be cheap, small enough to hold memory flat. */
const PIECE_BYTES = 64 * 1024;

/** What an operation answers: a status, headers, and JSON text, whole or in pieces as it comes to be. */
export interface Answer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: string | AsyncIterable<string>;
}

/**
 * Sends an answer. It is gathered, compressed where the caller accepts that, and sent with its Content-Length while it
 * is small enough for one; past {@link WHOLE_ANSWER_BYTES} what is there goes out, and the rest follows in chunks.
 *
 * Until then nothing has left, so that a failure of the body can still be answered with an error of its own. After
 * it, only {@link ServerResponse.destroy} tells the caller that the answer is not whole. A caller that has gone away ends the
 * reading of the body.
 *
 * @throws whatever the body throws
 */
export async function send(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const { status, headers = {}, body } = answer;
  const pieces = inPieces(typeof body === 'string' ? [body] : body);
  const first = await pieces.next();
  const encoding =
    first.value !== undefined && first.value.length >= COMPRESSED_FROM_BYTES ? accepted(request) : undefined;
  const encoded = compressed(resumed(first, pieces), encoding);

  const head = () => {
    response.statusCode = status;
    response.appendHeader('Vary', 'Accept-Encoding');
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (encoding !== undefined) response.setHeader('Content-Encoding', encoding);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  };

  const gathered: Buffer[] = [];
  let bytes = 0;
  for await (const piece of encoded) {
    if (response.destroyed) return;
    bytes += piece.length;
    if (!response.headersSent) {
      gathered.push(piece);
      if (bytes <= WHOLE_ANSWER_BYTES) continue;
      head();
      for (const held of gathered.splice(0)) await write(response, held);
    } else await write(response, piece);
  }
  if (!response.headersSent) {
    head();
    response.setHeader('Content-Length', bytes);
  }
  response.end(Buffer.concat(gathered));
}

async function write(response: ServerResponse, piece: Buffer): Promise<void> {
  if (response.destroyed || response.write(piece)) return;
  const gone = new AbortController();
  const close = () => gone.abort();
  response.once('close', close);
  await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
  response.off('close', close);
}

async function* inPieces(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer, undefined> {
  let held = '';
  for await (const text of texts) {
    held += text;
    if (held.length < PIECE_BYTES) continue;
    yield Buffer.from(held);
    held = '';
  }
  if (held !== '') yield Buffer.from(held);
  return undefined;
}

async function* resumed<T>(first: IteratorResult<T, undefined>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

type Encoding = 'br' | 'gzip';

const accepted = (request: IncomingMessage): Encoding | undefined => {
  const encoding = new Negotiator(request).encoding(['gzip', 'br', 'identity']);
  return encoding === 'br' || encoding === 'gzip' ? encoding : undefined;
};

function compressed(pieces: AsyncIterable<Buffer>, encoding: Encoding | undefined): AsyncIterable<Buffer> {
  switch (encoding) {
    case undefined:
      return pieces;
    case 'gzip':
      return Readable.from(pieces).compose(createGzip({ level: 1 })) as AsyncIterable<Buffer>;
    case 'br':
      return Readable.from(pieces).compose(
        createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      ) as AsyncIterable<Buffer>;
  }
}
