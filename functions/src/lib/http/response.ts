import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { brotliCompressSync, constants, createBrotliCompress, createGzip, gzipSync } from 'node:zlib';
import Negotiator from 'negotiator';
import type { WorkContext } from '../work-context';
import { ClientWriter } from './client-writer';

/** A larger response is sent in chunks, because the platform allows at most 32 MiB with a Content-Length. */
export const MAX_BUFFERED_RESPONSE_BYTES = 30_000_000;

/** A smaller response fits into one or two packets, so compression would hardly save time. */
const MIN_COMPRESSION_BYTES = 1024;

const STREAM_CHUNK_BYTES = 64 * 1024;

export interface OutgoingResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** JSON text, complete or in chunks. */
  body: string | AsyncIterable<string>;
}

/**
 * Sends a response, compressed if it is large enough and the client accepts that. Up to
 * {@link MAX_BUFFERED_RESPONSE_BYTES} it is buffered and sent with its Content-Length. If it is
 * larger, the buffer is sent, and what remains follows in chunks.
 *
 * While the response is buffered, an error of the body can still become an error response. After
 * that, only {@link ServerResponse.destroy} tells the client that the response is incomplete. The
 * body is no longer read once the client has disconnected.
 *
 * @param context its signal ends the wait for a client that reads slowly
 * @returns whether all of it was sent; false if the client left before that
 * @throws what the body throws, and ApiError request_timeout
 */
export async function sendResponse(
  response: ServerResponse,
  { status, headers = {}, body }: OutgoingResponse,
  context: Pick<WorkContext, 'signal' | 'counters'>,
): Promise<boolean> {
  const chunks = toChunks(typeof body === 'string' ? [body] : body);
  const { value: first = Buffer.alloc(0) } = await chunks.next();
  const encoding = first.length < MIN_COMPRESSION_BYTES ? undefined : negotiateEncoding(response.req);

  const setResponseHeaders = () => {
    response.statusCode = status;
    response.appendHeader('Vary', 'Accept-Encoding');
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (encoding !== undefined) response.setHeader('Content-Encoding', encoding);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  };

  const writer = new ClientWriter(response, context);
  const buffered: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of encode(first, chunks, encoding)) {
    if (writer.isOver) return false;
    buffered.push(chunk);
    bytes += chunk.length;
    if (bytes <= MAX_BUFFERED_RESPONSE_BYTES) continue;
    if (!response.headersSent) setResponseHeaders();
    for (const held of buffered.splice(0)) await writer.writeAtClientsPace(held);
  }
  if (writer.isOver) return false;
  if (!response.headersSent) {
    setResponseHeaders();
    response.setHeader('Content-Length', bytes);
  }
  // Chunks are written one by one, because joining them would double their memory.
  for (const held of buffered) writer.write(held);
  return writer.end();
}

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

/** Returns the encoding that the client prefers; in a tie Brotli, which compresses better and takes little longer. */
function negotiateEncoding(request: IncomingMessage): Encoding | undefined {
  const negotiator = new Negotiator(request) as {
    encoding(available: string[], options: { preferred: string[] }): string | undefined;
  };
  const encoding = negotiator.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return encoding === 'br' || encoding === 'gzip' ? encoding : undefined;
}

/** Higher levels take much longer, and make responses only slightly smaller. */
const GZIP = { level: 1, chunkSize: STREAM_CHUNK_BYTES };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 }, chunkSize: STREAM_CHUNK_BYTES };

const ENCODERS = {
  gzip: { encodeSync: (chunk: Buffer) => gzipSync(chunk, GZIP), createStream: () => createGzip(GZIP) },
  br: {
    encodeSync: (chunk: Buffer) => brotliCompressSync(chunk, BROTLI),
    createStream: () => createBrotliCompress(BROTLI),
  },
};

type Encoding = keyof typeof ENCODERS;

/** Compresses the chunks. A short first chunk is the complete response; another thread would take longer for it. */
function encode(first: Buffer, rest: AsyncIterable<Buffer>, encoding: Encoding | undefined) {
  const encoder = encoding && ENCODERS[encoding];
  if (first.length < STREAM_CHUNK_BYTES) return [encoder?.encodeSync(first) ?? first];
  const chunks = Readable.from(rest);
  chunks.unshift(first);
  return (encoder === undefined ? chunks : chunks.compose(encoder.createStream())) as AsyncIterable<Buffer>;
}
