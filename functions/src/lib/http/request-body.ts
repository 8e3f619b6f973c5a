import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { MIMEType, TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ValidationError, ApiError } from '../errors';
import type { BodyParser } from '../json/streaming-parser';

/** The most bytes that a body may have, as sent and inflated alike: what the platform lets a request have. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A request as a host may hand it over: with the body already read (`rawBody`), or not yet. */
export type RequestWithRawBody = IncomingMessage & { rawBody?: Buffer };

/**
 * Keeps the host's parsers away from every body. The Functions Framework parses and inflates before a handler runs, so
 * before the key is judged, and answers malformed JSON in HTML. Node reports a request on this channel first; a parser
 * that finds no content type leaves the stream alone, and {@link getContentType} still finds it among the raw headers.
 */
export function disableFrameworkBodyParsing(): void {
  channel('http.server.request.start').subscribe((message) => {
    const { request } = message as { request: IncomingMessage };
    delete request.headers['content-type'];
    // No address has a path of its own. The framework refuses one that is none, such as `*`, or cannot be decoded, in HTML.
    const { url = '' } = request;
    request.url = url.startsWith('/') ? url.replaceAll('%', '%25') : '/';
  });
}

/**
 * Hands a request's body to a reader as it arrives, and answers what that makes of it.
 *
 * Reads the stream up to {@link MAX_BODY_BYTES}, before and after inflating, and no longer than the signal allows;
 * where the host has read it already, takes what the host kept.
 *
 * @throws InvalidPayload with path `body` for whatever is not JSON in UTF-8, plain or gzip
 * @throws ServiceError payload_too_large, request_timeout
 */
export async function readBody<Body>(
  request: RequestWithRawBody,
  reader: BodyParser<Body>,
  signal: AbortSignal,
): Promise<Body> {
  assertJsonContentType(getContentType(request));
  const sink = createUtf8Sink(reader);
  const { rawBody } = request;
  if (rawBody === undefined) {
    await pipeBody(request, getContentEncoding(request), sink, signal);
  } else {
    if (rawBody.length > MAX_BODY_BYTES) throw payloadTooLarge();
    sink(rawBody);
    sink();
  }
  return reader.end();
}

const invalidBody = (message: string) => new ValidationError([{ path: 'body', message }]);

const payloadTooLarge = () =>
  new ApiError('payload_too_large', { logMessage: `body refused at more than ${MAX_BODY_BYTES} bytes` });

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

/** Takes the bytes of a body; without any, its end. @throws InvalidPayload */
type ByteSink = (bytes?: Buffer) => void;

/**
 * Reads a body to its end. Whatever goes wrong, the request's stream is left flowing into nothing rather than destroyed,
 * since its socket still has to carry the answer.
 */
async function pipeBody(
  request: IncomingMessage,
  encoding: 'identity' | 'gzip',
  sink: ByteSink,
  signal: AbortSignal,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw payloadTooLarge();

  const gunzip = encoding === 'gzip' ? createGunzip() : undefined;
  const { promise: completed, resolve, reject } = Promise.withResolvers<undefined>();
  const fail = (error: () => ApiError) => () => reject(error());
  const onTimeout = fail(bodyTimeout);
  signal.addEventListener('abort', onTimeout);
  request.on('data', limitBytes(fail(payloadTooLarge)));
  const onAborted = fail(() => invalidBody('The body ended before it was complete'));
  request.on('error', onAborted);
  // A request that has been read to its end closes too, perhaps before the last of it is inflated.
  request.on('close', () => {
    if (!request.readableEnded) onAborted();
  });
  gunzip?.on('data', limitBytes(fail(payloadTooLarge)));
  gunzip?.on(
    'error',
    fail(() => invalidBody('Expected a valid gzip body')),
  );

  const onData = (bytes?: Buffer) => {
    try {
      sink(bytes);
    } catch (error) {
      reject(error);
    }
  };
  const source = gunzip === undefined ? request : request.pipe(gunzip);
  source.on('data', onData);
  source.on('end', () => {
    onData();
    resolve(undefined);
  });
  try {
    await completed;
  } finally {
    signal.removeEventListener('abort', onTimeout);
    gunzip?.destroy();
    request.unpipe();
    request.removeAllListeners('data');
    request.resume();
  }
}

/** A listener that counts the bytes that pass, and calls `exceeded` once they are more than a body may have. */
function limitBytes(exceeded: () => void): (chunk: Buffer) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) exceeded();
  };
}

const bodyTimeout = () =>
  new ApiError('request_timeout', { logMessage: 'the body did not arrive in time', headers: { Connection: 'close' } });

/** Decodes bytes as they come, for the reader of their text. */
function createUtf8Sink(reader: BodyParser<unknown>): ByteSink {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (bytes) => {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw invalidBody('Expected UTF-8, received other bytes');
    }
    reader.write(text);
  };
}
