import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { ReceivedResponse } from './received-response';

/** What is sent. A header whose value is an array is sent once for each of its elements. */
export interface RequestSpec {
  method: string;
  headers: OutgoingHttpHeaders;
  /** Text and bytes go with a Content-Length, anything else in chunks; undefined: no body. */
  body?: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * Opens a request on a connection of its own and sends nothing but its head, so that a test decides what becomes of the
 * body. `answer` settles on the whole answer, or rejects when the connection breaks before it is whole.
 */
export function openRequest(
  port: number,
  { method, headers }: RequestSpec,
): { request: ClientRequest; answer: Promise<ReceivedResponse> } {
  const opened = request({ host: '127.0.0.1', port, method, headers, agent: false });
  const answer = new Promise<ReceivedResponse>((resolve, reject) => {
    opened.on('response', (response) => void readResponse(response).then(resolve, reject));
    opened.on('error', reject);
  });
  return { request: opened, answer };
}

/** Sends a request and reads its whole answer, also where that comes before the body is sent. */
export async function sendRequest(
  port: number,
  { method, headers, body = '' }: RequestSpec,
): Promise<ReceivedResponse> {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
    const { request: opened, answer } = openRequest(port, { method, headers: { ...length, ...headers } });
    opened.end(body);
    return answer;
  }
  const { request: opened, answer } = openRequest(port, {
    method,
    headers: { 'transfer-encoding': 'chunked', ...headers },
  });
  // A server that refuses early may break the sending; what it answered is what counts.
  await Promise.race([answer, pipeline(Readable.from(body), opened).catch(() => undefined)]);
  return answer;
}

async function readResponse(response: IncomingMessage): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const { statusCode: status = 0, headers } = response;
  const bytes = Buffer.concat(chunks);
  const text = decodeBody(bytes, headers['content-encoding']).toString('utf8');
  return { status, headers, bytes, text, json: isJson(text) ? (JSON.parse(text) as unknown) : undefined };
}

function decodeBody(bytes: Buffer, encoding: string | undefined): Buffer {
  switch (encoding) {
    case undefined:
      return bytes;
    case 'gzip':
      return gunzipSync(bytes);
    case 'br':
      return brotliDecompressSync(bytes);
    default:
      throw new Error(`an answer in the unknown encoding ${encoding}`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
