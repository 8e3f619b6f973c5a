import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { MIMEType, promisify, TextDecoder } from 'node:util';
import { gunzip } from 'node:zlib';
import { abortable, systemClock } from '../clock';
import { ApiError, PayloadTooLargeError, ValidationError } from '../errors';
import { getContentType } from '../instance/prepare-request';
import { countValues, parseJson, type ParsedJson } from '../json';
import { BODY_IDLE_TIMEOUT_MS, getMaxValues } from '../payload-limits';

/** A request of the Functions Framework, or of a server that has already read the body (`rawBody`). */
export type RequestWithRawBody = IncomingMessage & { rawBody?: Buffer };

export class ClientGoneError extends Error {}

export interface RequestBody<Body> {
  /** Limit of the body as it is sent, and of the inflated body. */
  maxBytes: number;
  /** Milliseconds in which a client must send the body. */
  timeoutMs: number;
  /** @throws ValidationError */
  parse: (json: ParsedJson) => Body;
}

/**
 * Reads the whole request body and returns the parsed value.
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
  const createReason = () => new ApiError('request_timeout', 'the body did not arrive in time');
  const { signal, cancel } = systemClock.createTimeout(timeoutMs, createReason, parent);
  try {
    return parse(parseText(await readText(request, maxBytes, signal), getMaxValues(maxBytes)));
  } finally {
    cancel();
  }
}

const invalidBody = (message: string) => new ValidationError([{ path: 'body', message }]);

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

/** A function of its own, so that the bytes are no longer in memory while the text is parsed. */
async function readText(request: RequestWithRawBody, maxBytes: number, signal: AbortSignal): Promise<string> {
  const bytes = request.rawBody ?? (await readInflated(request, maxBytes, signal));
  if (bytes.length > maxBytes) throw new PayloadTooLargeError('body', maxBytes);
  return decodeUtf8(bytes);
}

async function readInflated(request: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (!['', 'identity', 'gzip'].includes(encoding)) {
    throw invalidBody('Expected the content encoding gzip or none, received another');
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new PayloadTooLargeError('body', maxBytes);
  const bytes = await readBytes(request, maxBytes, signal);
  return encoding === 'gzip' ? abortable(signal, () => inflate(bytes, maxBytes)) : bytes;
}

/**
 * Collects the bytes of a body. After an error, the rest of the body is discarded as it arrives. The request is
 * never destroyed, because its socket still has to carry the response.
 */
async function readBytes(request: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const idle = setTimeout(() => {
    reject(new ApiError('request_timeout', `no byte of the body arrived for ${BODY_IDLE_TIMEOUT_MS} ms`));
  }, BODY_IDLE_TIMEOUT_MS);
  const chunks: Buffer[] = [];
  let length = 0;
  const collect = (chunk: Buffer) => {
    idle.refresh();
    length += chunk.length;
    if (length > maxBytes) reject(new PayloadTooLargeError('body', maxBytes));
    else chunks.push(chunk);
  };
  request.on('data', collect);
  const stopWaiting = finished(request, (error) => {
    if (error) reject(new ClientGoneError('the client left before its body was complete'));
    else resolve(Buffer.concat(chunks));
  });
  try {
    return await abortable(signal, () => promise);
  } finally {
    clearTimeout(idle);
    stopWaiting();
    request.off('data', collect);
  }
}

async function inflate(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new PayloadTooLargeError('body', maxBytes);
    throw invalidBody('Expected a valid gzip body');
  }
}

/** The decoder skips a byte order mark at the start. */
function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalidBody('Expected UTF-8, received other bytes');
  }
}

function parseText(text: string, maxValues: number): ParsedJson {
  if (countValues(text) > maxValues) throw new PayloadTooLargeError('values', maxValues);
  try {
    return parseJson(text);
  } catch (error) {
    // Keeps only the position of V8's message, because the rest can contain an excerpt of the body.
    const [place = ''] = / at position \d+/.exec(/^[^"]*/.exec((error as SyntaxError).message)?.[0] ?? '') ?? [];
    throw invalidBody(`Expected JSON, received other text${place}`);
  }
}
