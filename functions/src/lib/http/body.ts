import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { MIMEType, TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { InvalidPayload, ServiceError } from './errors';
import type { BodyReader } from './json';

/** The most bytes that a body may have, as sent and inflated alike: what the platform lets a request have. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A request as a host may hand it over: with the body already read (`rawBody`), or not yet. */
export type IncomingRequest = IncomingMessage & { rawBody?: Buffer };

/**
 * Keeps the host's parsers away from every body. The Functions Framework parses and inflates before a handler runs, so
 * before the key is judged, and answers malformed JSON in HTML. Node reports a request on this channel first; a parser
 * that finds no content type leaves the stream alone, and {@link contentType} still finds it among the raw headers.
 */
export function keepBodiesUnparsed(): void {
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
 * @throws ServiceError payload_too_large, body_timed_out
 */
export async function readBody<Body>(
  request: IncomingRequest,
  reader: BodyReader<Body>,
  signal: AbortSignal,
): Promise<Body> {
  judgeContentType(contentType(request));
  const take = decodingFor(reader);
  const { rawBody } = request;
  if (rawBody === undefined) {
    await read(request, contentEncoding(request), take, signal);
  } else {
    if (rawBody.length > MAX_BODY_BYTES) throw tooLarge();
    take(rawBody);
    take();
  }
  return reader.end();
}

const refused = (message: string) => new InvalidPayload([{ path: 'body', message }]);

const tooLarge = () =>
  new ServiceError('payload_too_large', { internal: `body refused at more than ${MAX_BODY_BYTES} bytes` });

function contentType({ rawHeaders }: IncomingMessage): string | undefined {
  const name = rawHeaders.findIndex((header, i) => i % 2 === 0 && header.toLowerCase() === 'content-type');
  return name === -1 ? undefined : rawHeaders[name + 1];
}

function judgeContentType(header: string | undefined): void {
  const expected = 'Expected the content type application/json';
  if (header === undefined) throw refused(`${expected}, received none`);
  let type: MIMEType;
  try {
    type = new MIMEType(header);
  } catch {
    throw refused(expected);
  }
  if (type.essence !== 'application/json') throw refused(`${expected}, received another`);
  const charset = type.params.get('charset')?.toLowerCase() ?? 'utf-8';
  if (charset !== 'utf-8' && charset !== 'utf8') throw refused('Expected the charset UTF-8, received another');
}

function contentEncoding({ headers }: IncomingMessage): 'identity' | 'gzip' {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return 'identity';
  if (encoding === 'gzip') return 'gzip';
  throw refused('Expected the content encoding gzip or none, received another');
}

/** Takes the bytes of a body; without any, its end. @throws InvalidPayload */
type TakeBytes = (bytes?: Buffer) => void;

/**
 * Reads a body to its end. Whatever goes wrong, the request's stream is left flowing into nothing rather than destroyed,
 * since its socket still has to carry the answer.
 */
async function read(
  request: IncomingMessage,
  encoding: 'identity' | 'gzip',
  take: TakeBytes,
  signal: AbortSignal,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();

  const gunzip = encoding === 'gzip' ? createGunzip() : undefined;
  const { promise: whole, resolve, reject } = Promise.withResolvers<undefined>();
  const fail = (error: () => ServiceError) => () => reject(error());
  const timeOut = fail(timedOut);
  signal.addEventListener('abort', timeOut);
  request.on('data', bounded(fail(tooLarge)));
  const cutShort = fail(() => refused('The body ended before it was complete'));
  request.on('error', cutShort);
  // A request that has been read to its end closes too, perhaps before the last of it is inflated.
  request.on('close', () => {
    if (!request.readableEnded) cutShort();
  });
  gunzip?.on('data', bounded(fail(tooLarge)));
  gunzip?.on(
    'error',
    fail(() => refused('Expected a valid gzip body')),
  );

  const taken = (bytes?: Buffer) => {
    try {
      take(bytes);
    } catch (error) {
      reject(error);
    }
  };
  const source = gunzip === undefined ? request : request.pipe(gunzip);
  source.on('data', taken);
  source.on('end', () => {
    taken();
    resolve(undefined);
  });
  try {
    await whole;
  } finally {
    signal.removeEventListener('abort', timeOut);
    gunzip?.destroy();
    request.unpipe();
    request.removeAllListeners('data');
    request.resume();
  }
}

/** A listener that counts the bytes that pass, and calls `exceeded` once they are more than a body may have. */
function bounded(exceeded: () => void): (chunk: Buffer) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) exceeded();
  };
}

const timedOut = () =>
  new ServiceError('body_timed_out', { internal: 'the body did not arrive in time', headers: { Connection: 'close' } });

/** Decodes bytes as they come, for the reader of their text. */
function decodingFor(reader: BodyReader<unknown>): TakeBytes {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (bytes) => {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw refused('Expected UTF-8, received other bytes');
    }
    reader.read(text);
  };
}
