import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { MIMEType, TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ApiError, PayloadTooLargeError, ValidationError } from '../errors';
import { JsonSyntaxError, type BodyParser } from '../json/body-parser';

/** A request of the Functions Framework, or of a server that has read the body already (`rawBody`). */
export type RequestWithRawBody = IncomingMessage & { rawBody?: Buffer };

/**
 * Keeps the body parsers of the Functions Framework away from every body. They parse and inflate before a handler runs, so
 * before the API key is checked, and respond to malformed JSON in HTML. Node reports a request on this channel first; a parser
 * that finds no content type leaves the stream alone, and {@link getContentType} still finds it in the raw headers.
 */
export function disableFrameworkBodyParsing(): void {
  channel('http.server.request.start').subscribe((message) => {
    const { request } = message as { request: IncomingMessage };
    delete request.headers['content-type'];
    // No address has a path. The framework responds in HTML to one that is not a path, such as `*`, or cannot be decoded.
    const { url = '' } = request;
    request.url = url.startsWith('/') ? url.replaceAll('%', '%25') : '/';
  });
}

interface ReadOptions {
  /** As sent and inflated alike. */
  maxBytes: number;
  /** Ends the reading. */
  signal: AbortSignal;
}

/**
 * Streams the request body into `parser` and returns the parsed value.
 *
 * @throws ValidationError with path `body` for anything but JSON in UTF-8, plain or gzip
 * @throws PayloadTooLargeError
 * @throws the signal's reason
 */
export async function readBody<Body>(
  request: RequestWithRawBody,
  parser: BodyParser<Body>,
  options: ReadOptions,
): Promise<Body> {
  options.signal.throwIfAborted();
  assertJsonContentType(getContentType(request));
  const sink = new Utf8Sink(parser);
  const { rawBody } = request;
  if (rawBody === undefined) return pipeBody(request, sink, options);
  if (rawBody.length > options.maxBytes) throw payloadTooLarge(options);
  sink.write(rawBody);
  return sink.end();
}

const invalidBody = (message: string) => new ValidationError([{ path: 'body', message }]);

const payloadTooLarge = ({ maxBytes }: ReadOptions) => new PayloadTooLargeError({ scope: 'body', bytes: maxBytes });

/** Why a body is not read to its end. The connection cannot be used again, as the rest of the body may still arrive. */
export const createBodyTimeoutError = () =>
  new ApiError('request_timeout', 'the body did not arrive in time', { headers: { Connection: 'close' } });

function getContentType({ rawHeaders }: IncomingMessage): string | undefined {
  const name = rawHeaders.findIndex((header, i) => i % 2 === 0 && header.toLowerCase() === 'content-type');
  return name === -1 ? undefined : rawHeaders[name + 1];
}

function assertJsonContentType(header: string | undefined): void {
  const expected = 'Expected the content type application/json';
  if (header === undefined) throw invalidBody(`${expected}, received none`);
  let type: MIMEType;
  try {
    type = new MIMEType(header);
  } catch {
    throw invalidBody(expected);
  }
  if (type.essence !== 'application/json') throw invalidBody(`${expected}, received another`);
  const charset = type.params.get('charset')?.toLowerCase() ?? 'utf-8';
  if (charset !== 'utf-8' && charset !== 'utf8') throw invalidBody('Expected the charset UTF-8, received another');
}

function getContentEncoding({ headers }: IncomingMessage): 'identity' | 'gzip' {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return 'identity';
  if (encoding === 'gzip') return 'gzip';
  throw invalidBody('Expected the content encoding gzip or none, received another');
}

/**
 * Streams the body to its end and returns the parsed value. After an error the request's stream is left flowing and not
 * destroyed, because its socket still has to carry the response.
 */
async function pipeBody<Body>(request: IncomingMessage, sink: Utf8Sink<Body>, options: ReadOptions): Promise<Body> {
  const isGzip = getContentEncoding(request) === 'gzip';
  const { maxBytes, signal } = options;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw payloadTooLarge(options);

  const source = request.pipe(isGzip ? createGunzip() : new PassThrough());
  const onAbort = () => source.destroy(signal.reason as Error);
  const onClientGone = () => source.destroy(invalidBody('The body ended before it was complete'));
  signal.addEventListener('abort', onAbort);
  request.on('error', onClientGone);
  // A complete request closes too, perhaps before its last bytes are inflated.
  request.on('close', () => {
    if (!request.readableEnded) onClientGone();
  });
  let sentBytes = 0;
  request.on('data', (bytes: Buffer) => {
    sentBytes += bytes.length;
    if (sentBytes > maxBytes) source.destroy(payloadTooLarge(options));
  });
  try {
    let inflatedBytes = 0;
    for await (const bytes of source as AsyncIterable<Buffer>) {
      inflatedBytes += bytes.length;
      if (inflatedBytes > maxBytes) throw payloadTooLarge(options);
      sink.write(bytes);
    }
    return sink.end();
  } catch (error) {
    const isGzipError = isGzip && error instanceof Error && 'errno' in error;
    throw isGzipError ? invalidBody('Expected a valid gzip body') : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Before it flows again: when its last destination goes, a stream is paused.
    request.unpipe(source);
    request.removeAllListeners('data');
    request.resume();
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Bytes that are decoded at a time, however small the chunks are in which a client sends them. */
const MIN_DECODED_BYTES = 64 * 1024;

/** Decodes chunks of bytes for a parser of their text, without a byte order mark. */
class Utf8Sink<Body> {
  readonly #parser: BodyParser<Body>;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #held: Buffer[] = [];
  #heldBytes = 0;
  #skippedBytes: number | undefined;

  constructor(parser: BodyParser<Body>) {
    this.#parser = parser;
  }

  write(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= MIN_DECODED_BYTES) this.#decode(true);
  }

  /** Returns what the parser makes of the complete text. */
  end(): Body {
    this.#decode(false);
    return this.#parse(() => this.#parser.end());
  }

  #decode(stream: boolean): void {
    const bytes = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    this.#skippedBytes ??= bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
      ? BYTE_ORDER_MARK.length
      : 0;
    let text: string;
    try {
      text = this.#decoder.decode(bytes, { stream });
    } catch {
      throw invalidBody('Expected UTF-8, received other bytes');
    }
    this.#parse(() => this.#parser.write(text));
  }

  #parse<T>(step: () => T): T {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const byte = (this.#skippedBytes ?? 0) + error.byteOffset;
      throw invalidBody(
        error.isAtEnd
          ? `Expected JSON, received text that ends too early, at byte ${byte}`
          : `Expected JSON, received other text at byte ${byte}`,
      );
    }
  }
}
