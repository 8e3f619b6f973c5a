import type { IncomingMessage } from 'node:http';
import { addAbortSignal, finished, PassThrough, type Writable } from 'node:stream';
import { MIMEType, TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { systemClock } from '../clock';
import { ApiError, PayloadTooLargeError, ValidationError } from '../errors';
import { parseJson, type ParsedJson } from '../json';
import { BODY_IDLE_TIMEOUT_MS } from '../payload-limits';

/** A request of the Functions Framework, or of a server that has already read the body (`rawBody`). */
export type RequestWithRawBody = IncomingMessage & { rawBody?: Buffer };

export class ClientGoneError extends Error {}

export interface RequestBody<Body> {
  /** Limit of the body as it is sent, and of the inflated body. */
  maxBytes: number;
  /** Milliseconds in which a client must send the body. */
  timeoutMs: number;
  parse: (json: ParsedJson) => Body;
}

/**
 * Streams the request body into a parser and returns the parsed value.
 *
 * @param parent can end the reading before its timeout
 * @throws ValidationError, with path `body` for anything but JSON in UTF-8, plain or gzip
 * @throws PayloadTooLargeError
 * @throws ApiError request_timeout, ClientGoneError, or the parent's reason
 */
export async function readBody<Body>(
  request: RequestWithRawBody,
  { maxBytes, timeoutMs, parse }: RequestBody<Body>,
  parent: AbortSignal,
): Promise<Body> {
  parent.throwIfAborted();
  assertJsonContentType(getContentType(request));
  const createReason = () => bodyTimeout('the body did not arrive in time');
  const { signal, cancel } = systemClock.createTimeout(timeoutMs, createReason, parent);
  const chunks = request.rawBody ? [request.rawBody] : streamBytes(request, maxBytes, signal);
  try {
    let body = '';
    for await (const text of decodeUtf8(chunks, maxBytes)) body += text;
    return parse(parseJson(body));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalidBody('Expected JSON, received other text');
  } finally {
    cancel();
  }
}

const invalidBody = (message: string) => new ValidationError([{ path: 'body', message }]);

const payloadTooLarge = (maxBytes: number) => new PayloadTooLargeError({ scope: 'body', bytes: maxBytes });

/** The connection cannot be used again, because the rest of the body may still arrive. */
const bodyTimeout = (message: string) => new ApiError('request_timeout', message, { headers: { Connection: 'close' } });

/** Reads the raw headers, because `prepareEachRequest` removes the content type from `headers`. */
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

function isGzipped({ headers }: IncomingMessage): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (['', 'identity', 'gzip'].includes(encoding)) return encoding === 'gzip';
  throw invalidBody('Expected the content encoding gzip or none, received another');
}

/**
 * Yields the inflated body as it arrives. After an error while it reads, here or in the consumer, the request's
 * stream keeps flowing. It is never destroyed, because its socket still has to carry the response.
 */
async function* streamBytes(request: IncomingMessage, maxBytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const isGzip = isGzipped(request);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw payloadTooLarge(maxBytes);

  const source = addAbortSignal(signal, request.pipe(isGzip ? createGunzip() : new PassThrough()));
  finished(request, (error) => {
    if (error) source.destroy(new ClientGoneError('the client left before its body was complete'));
  });
  const stopWatching = onIdle(request, source, () =>
    source.destroy(bodyTimeout(`no byte of the body arrived for ${BODY_IDLE_TIMEOUT_MS} ms`)),
  );
  let sentBytes = 0;
  const countBytes = (bytes: Buffer) => {
    sentBytes += bytes.length;
    if (sentBytes > maxBytes) source.destroy(payloadTooLarge(maxBytes));
  };
  request.on('data', countBytes);
  try {
    yield* source as AsyncIterable<Buffer>;
  } catch (error) {
    signal.throwIfAborted();
    const isGzipError = isGzip && error instanceof Error && 'errno' in error;
    throw isGzipError ? invalidBody('Expected a valid gzip body') : error;
  } finally {
    stopWatching();
    // Unpiped before `resume`, because a stream that loses its last destination is paused.
    request.unpipe(source);
    request.off('data', countBytes);
    request.resume();
  }
}

/**
 * Calls `fn` when no byte has arrived for {@link BODY_IDLE_TIMEOUT_MS}. The request is paused while
 * `destination` takes no more, so that time does not count.
 *
 * @returns a function that ends the watch
 */
export function onIdle(request: IncomingMessage, destination: Writable, fn: () => void): () => void {
  const timer = setTimeout(() => {
    if (request.complete) return;
    if (destination.writableNeedDrain) timer.refresh();
    else fn();
  }, BODY_IDLE_TIMEOUT_MS);
  const restart = () => void timer.refresh();
  request.on('data', restart);
  destination.on('drain', restart);
  return () => {
    clearTimeout(timer);
    request.off('data', restart);
    destination.off('drain', restart);
  };
}

/** Minimum number of characters to parse at a time, except at the end, even if the client's chunks are smaller. */
const MIN_PARSED_CHARACTERS = 64 * 1024;

/** Decodes a body, and skips a byte order mark at its start. */
async function* decodeUtf8(chunks: AsyncIterable<Buffer> | Iterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Buffer) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw invalidBody('Expected UTF-8, received other bytes');
    }
  };
  let text = '';
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw payloadTooLarge(maxBytes);
    text += decode(chunk);
    if (text.length < MIN_PARSED_CHARACTERS) continue;
    yield text;
    text = '';
  }
  yield text + decode();
}
