/**
 * Sends a price list until it is stored, or until sending it again is of no use (docs/integration-guide.md).
 *
 *     BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
 *       npx --yes tsx docs/examples/add-price-list.mts docs/examples/price-list.json
 *
 * Needs Node 20 or newer; from 22.18 on `node` runs it without `tsx`. Exit codes: 0 stored, 1 correct it first, 2 contact support, 64 wrong usage.
 */
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long to retry: longer than the service takes for the largest list. */
const RETRY_MS = Number(process.env['RETRY_SECONDS'] ?? 30 * 60) * 1000;

/** How long one request may take: the service responds within 20 minutes. */
const REQUEST_MS = Number(process.env['REQUEST_SECONDS'] ?? 21 * 60) * 1000;

/** Statuses of transient errors, of the service and of the platform in front of it. */
const TRANSIENT_STATUSES = [408, 429, 502, 503, 504];

interface HttpResponse {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

type SendResult =
  | { kind: 'stored' | 'correct it first' | 'contact support'; text: string }
  | { kind: 'retry'; reason: string; afterMs?: number | undefined };

/** One request. Not with `fetch`, which stops waiting for the response headers after 300 s. */
function post(url: URL, apiKey: string, payload: Buffer): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'Content-Type': 'application/json', 'Content-Length': payload.length },
      signal: AbortSignal.timeout(REQUEST_MS),
    };
    const request = (url.protocol === 'https:' ? https : http).request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    request.on('error', reject).end(payload);
  });
}

async function send(url: URL, apiKey: string, payload: Buffer): Promise<SendResult> {
  let response: HttpResponse;
  try {
    response = await post(url, apiKey, payload);
  } catch (error) {
    // Without a response the outcome is unknown. Sending the same payload again is safe.
    const { name, message, code } = error as NodeJS.ErrnoException;
    const reason = name === 'AbortError' || name === 'TimeoutError' ? `none within ${REQUEST_MS / 1000} s` : message;
    return { kind: 'retry', reason: `no response: ${reason === '' ? (code ?? name) : reason}` };
  }
  const { status, headers, text } = response;
  const summary = `${status} ${text} (request ${String(headers['x-request-id'])})`;
  const retry = (reason: string): SendResult => ({
    kind: 'retry',
    reason,
    afterMs: parseRetryAfter(headers['retry-after']),
  });

  const body = parseObject(text);
  const error = body?.['error'];
  if (status === 200) {
    return body?.['success'] === true ? { kind: 'stored', text } : retry('200, but not with a response of the service');
  }
  const reason = typeof error === 'string' ? `${status} ${error}` : String(status);
  if (headers['retry-after'] !== undefined || TRANSIENT_STATUSES.includes(status)) return retry(reason);
  if (status >= 500) {
    if (typeof error !== 'string') return retry(`${status}, but not with a response of the service`);
    return error === 'Internal error' ? retry(reason) : { kind: 'contact support', text: summary };
  }
  return { kind: text.includes('requires review') ? 'contact support' : 'correct it first', text: summary };
}

/** `Retry-After` is a number of seconds or a date. @returns milliseconds, or undefined */
function parseRetryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

async function sendWithRetries(
  url: URL,
  apiKey: string,
  payload: Buffer,
): Promise<Exclude<SendResult, { kind: 'retry' }>> {
  const retryUntil = Date.now() + RETRY_MS;
  for (let tries = 1, delayMs = 1000; ; tries++, delayMs = Math.min(delayMs * 2, 30_000)) {
    const result = await send(url, apiKey, payload);
    if (result.kind !== 'retry') return result;
    const { reason, afterMs = delayMs } = result;
    if (Date.now() + afterMs > retryUntil) {
      return { kind: 'contact support', text: `not stored after ${tries} tries, the last: ${reason}` };
    }
    console.error(`try ${tries}: ${reason}; next try in ${Math.ceil(afterMs / 1000)} s`);
    await sleep(afterMs);
  }
}

/** @throws the reason why the program cannot start */
function parseCall(): [URL, string, Buffer] {
  const [file, ...others] = process.argv.slice(2);
  const { BASE_URL = '', API_KEY = '' } = process.env;
  if (file === undefined || others.length > 0) throw new Error('expected one file');
  if (!/^https?:\/\/[^/]/.test(BASE_URL)) throw new Error('BASE_URL must begin with http:// or https://');
  if (!/^[!-~]+$/.test(API_KEY)) throw new Error('API_KEY must be set, without spaces or line breaks');
  return [new URL(`${BASE_URL.replace(/\/+$/, '')}/addPriceLists`), API_KEY, readFileSync(file)];
}

let call: ReturnType<typeof parseCall>;
try {
  call = parseCall();
} catch (error) {
  console.error((error as Error).message);
  console.error('Usage: BASE_URL=https://… API_KEY=… npx --yes tsx add-price-list.mts FILE');
  process.exit(64);
}
const { kind, text } = await sendWithRetries(...call);
if (kind === 'stored') console.log(text);
else console.error(`${kind}: ${text}`);
process.exitCode = { stored: 0, 'correct it first': 1, 'contact support': 2 }[kind];
