import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gunzipSync } from 'node:zlib';
import type { ReceivedResponse } from './received-response';

/** A request to send. A header whose value is an array is sent once for each element. */
export interface RequestSpec {
  method: string;
  path?: string;
  headers: OutgoingHttpHeaders;
  /** Text and bytes are sent with a Content-Length, unless the text is empty, and anything else in chunks. */
  body?: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * Opens a request on a new connection. The head is sent when the caller writes the body or ends the request.
 * `response` resolves to the complete response, or rejects if the connection breaks first or the response cannot be decoded.
 */
export function openRequest(
  port: number,
  { method, path = '/', headers }: RequestSpec,
): { request: ClientRequest; response: Promise<ReceivedResponse> } {
  const opened = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  const response = new Promise<ReceivedResponse>((resolve, reject) => {
    opened.on('response', (incoming) => void readResponse(incoming).then(resolve, reject));
    opened.on('error', reject);
  });
  return { request: opened, response };
}

/** Sends a request and reads the complete response, even if it arrives before the whole body is sent. */
export async function sendRequest(
  port: number,
  { headers, body = '', ...target }: RequestSpec,
): Promise<ReceivedResponse> {
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  const framing = isWhole ? { 'content-length': Buffer.byteLength(body) } : { 'transfer-encoding': 'chunked' };
  const { request: opened, response } = openRequest(port, {
    ...target,
    headers: { ...(body !== '' && framing), ...headers },
  });
  if (isWhole) opened.end(body);
  // A server can reject a request before the upload ends. Only the response matters.
  else await Promise.race([response, pipeline(Readable.from(body), opened).catch(() => undefined)]);
  return response;
}

async function readResponse(response: IncomingMessage): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const { statusCode: status = 0, headers } = response;
  const bytes = Buffer.concat(chunks);
  const text = decodeBody(bytes, headers['content-encoding']).toString('utf8');
  return { status, headers, bytes, text, json: parseJson(text) };
}

/** @throws Error for an encoding other than gzip, or for gzip that is damaged */
export function decodeBody(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined) return bytes;
  if (encoding === 'gzip') return gunzipSync(bytes);
  throw new Error(`the response has the unknown encoding ${encoding}`);
}

/** @returns undefined for a text that is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
