import type { IncomingMessage } from 'node:http';
import { isUtf8 } from 'node:buffer';
import { finished } from 'node:stream';
import { MIMEType, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { abortable, systemClock } from '../clock';
import { ApiError, ClientGoneError, PayloadTooLargeError } from '../errors';
import { getContentType } from '../instance/prepare-request';
import { invalidBody, scanJson, type Shape } from '../json';
import { BODY_IDLE_TIMEOUT_MS, MAX_PRODUCTS } from '../payload-limits';

/** A request of the Functions Framework, or of a server that has already read the body (`rawBody`). */
export type RequestWithRawBody = IncomingMessage & { rawBody?: Buffer };

export interface RequestBody<Body> {
  /** Limit of the body as it is sent, and of the inflated body. */
  maxBytes: number;
  /** Milliseconds in which a client must send the body. */
  timeoutMs: number;
  shape: Shape;
  /** @param value what the shape reads from the body. @throws ValidationError */
  parse: (value: unknown) => Body;
}

/** How a client sends a body. */
export interface BodyEncoding {
  isGzip: boolean;
  /**
   * Maximum number of bytes of the inflated body: the limit, or less if the declared length rules out more. For a body that the
   * server has already read, its length.
   */
  maxInflatedBytes: number;
}

/** One compressed byte of DEFLATE (RFC 1951) inflates to at most this number of bytes. */
const MAX_INFLATION = 1_032;

/**
 * Checks the headers of a body before the service reads any byte of it.
 *
 * @throws ValidationError with the path `body`, PayloadTooLargeError
 */
export function checkBodyHeaders(request: RequestWithRawBody, maxBytes: number): BodyEncoding {
  assertJsonContentType(getContentType(request));
  if (request.rawBody !== undefined) return { isGzip: false, maxInflatedBytes: request.rawBody.length };
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (!['', 'identity', 'gzip'].includes(encoding)) {
    throw invalidBody('Expected the content encoding gzip or none, received another');
  }
  const isGzip = encoding === 'gzip';
  const declaredBytes = Number(request.headers['content-length'] ?? maxBytes);
  if (declaredBytes > maxBytes) throw new PayloadTooLargeError('body', maxBytes);
  return { isGzip, maxInflatedBytes: Math.min(maxBytes, declaredBytes * (isGzip ? MAX_INFLATION : 1)) };
}

/**
 * Reads the whole request body.
 *
 * @param parent can end the reading before its timeout
 * @returns the inflated bytes
 * @throws ValidationError with the path `body`, PayloadTooLargeError
 * @throws ApiError request_timeout, ClientGoneError, or the parent's reason
 */
export async function readBody(
  request: RequestWithRawBody,
  { maxBytes, timeoutMs }: Pick<RequestBody<unknown>, 'maxBytes' | 'timeoutMs'>,
  { isGzip, maxInflatedBytes }: BodyEncoding,
  parent: AbortSignal,
): Promise<Buffer> {
  const createReason = () => new ApiError('request_timeout', 'the body did not arrive in time');
  const { signal, cancel } = systemClock.createTimeout(timeoutMs, createReason, parent);
  try {
    const bytes = request.rawBody ?? (await readBytes(request, maxBytes, signal));
    if (bytes.length > maxBytes) throw new PayloadTooLargeError('body', maxBytes);
    return isGzip ? await abortable(signal, () => inflate(bytes, maxBytes, maxInflatedBytes)) : bytes;
  } finally {
    cancel();
  }
}

/** @returns what the shape reads from a body. @throws ValidationError with the path `body`, PayloadTooLargeError */
export function scanBody(bytes: Buffer, shape: Shape): unknown {
  if (!isUtf8(bytes)) throw invalidBody('Expected UTF-8, received other bytes');
  return scanJson(bytes, shape, MAX_PRODUCTS);
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

/**
 * Reads the bytes of a body into one buffer. After an error, the rest of the body is discarded as it arrives. The request is
 * never destroyed, because its socket still has to carry the response.
 */
async function readBytes(request: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const idle = setTimeout(() => {
    const before = length;
    // Bytes that arrived while the process was busy are read first.
    setImmediate(() => {
      if (length > before) return;
      reject(new ApiError('request_timeout', `no byte of the body arrived for ${BODY_IDLE_TIMEOUT_MS} ms`));
    });
  }, BODY_IDLE_TIMEOUT_MS);
  // A part of the buffer to which nothing has been written takes no memory.
  const body = Buffer.allocUnsafeSlow(Number(request.headers['content-length'] ?? maxBytes));
  let length = 0;
  const collect = (chunk: Buffer) => {
    idle.refresh();
    if (length + chunk.length > body.length) reject(new PayloadTooLargeError('body', maxBytes));
    else length += chunk.copy(body, length);
  };
  request.on('data', collect);
  const stopWaiting = finished(request, (error) => {
    if (error) reject(new ClientGoneError('the client left before its body was complete'));
    else resolve(body.subarray(0, length));
  });
  try {
    return await abortable(signal, () => promise);
  } finally {
    clearTimeout(idle);
    stopWaiting();
    request.off('data', collect);
  }
}

async function inflate(bytes: Buffer, maxBytes: number, chunkSize: number): Promise<Buffer> {
  try {
    // With a `chunkSize` as large as the result can be, zlib fills one buffer, instead of many that it has to join.
    return await promisify(gunzip)(bytes, { maxOutputLength: maxBytes, chunkSize });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new PayloadTooLargeError('body', maxBytes);
    throw invalidBody('Expected a valid gzip body');
  }
}
