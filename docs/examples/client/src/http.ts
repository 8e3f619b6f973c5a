import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { EnvHttpProxyAgent, request, type Dispatcher } from 'undici';

/**
 * Sends a request until it succeeds, another request would not help, or the time for retries is over. The rules are in
 * docs/integration-guide.md#retry-stop-or-contact-support.
 */

const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
const TRANSIENT_STATUSES = [408, 429, 500, 502, 503, 504];
/** Codes of errors that a retry cannot solve: a certificate that cannot be verified, or a response that is too large or not valid gzip. */
const PERMANENT = /CERT|SIGNATURE|EXCEEDED|TOO_LARGE|^Z_/;

// The signal of a request limits its time, so undici's own limits of 300 s are off.
const AGENT_OPTIONS = { headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_RESPONSE_BYTES };

let dispatcher: Dispatcher | undefined;

/** Creates the agent at the first request, so that a wrong proxy variable does not prevent the import of this module. */
function getDispatcher(): Dispatcher {
  const proxies = { httpProxy: readProxy('http_proxy'), httpsProxy: readProxy('https_proxy') };
  return (dispatcher ??= new EnvHttpProxyAgent({ ...AGENT_OPTIONS, ...proxies }));
}

/** Returns the address of a proxy; empty without one. An address without a scheme names an HTTP proxy, as for curl. @throws TypeError */
function readProxy(name: 'http_proxy' | 'https_proxy'): string {
  const value = process.env[name] ?? process.env[name.toUpperCase()] ?? '';
  const address = /^$|:\/\//.test(value) ? value : `http://${value}`;
  if (address === '' || (/^(https?|socks5?):/.test(address) && URL.canParse(address))) return address;
  // The message omits the value, because it can contain a password.
  throw new TypeError(`the environment variable ${name} or ${name.toUpperCase()} is not the address of a proxy`);
}

/** A response that is not a success. If its status is 2xx, the service did not send it. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  /** @param body the parsed body, from the service `{ error }` or `{ success, message, errors }`; undefined if it is not JSON */
  constructor(
    readonly status: number,
    text: string,
    readonly body: unknown,
    readonly requestId?: string,
    readonly retryAfter?: string,
  ) {
    // Replaces characters that could control a terminal.
    super(`${status} ${text.slice(0, 1000).replaceAll(/\p{C}/gu, ' ')}`);
  }
}

export interface SendOptions {
  /** How long after the start of a call a retry can begin, in milliseconds. Default: 1.5 times the operation's timeout. */
  retryForMs?: number;
  /** The time limit of one request, in milliseconds. Default: one minute more than the operation's timeout. */
  requestTimeoutMs?: number;
  /** Called before each retry, for instance to log it. */
  onRetry?: (reason: Error, delayMs: number) => void;
  /** Cancels the call and its retries. */
  signal?: AbortSignal;
}

type Outgoing = Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>;

/** Returns true for the JSON of a success of the service, not for what another server sends. */
export type IsSuccess = (response: unknown) => boolean;

/** @returns the JSON of the success. @throws the error of the last request, or the reason of `signal` */
export async function send(
  url: string,
  outgoing: Outgoing,
  isSuccess: IsSuccess,
  timeoutMs: number,
  options: SendOptions,
): Promise<unknown> {
  const { retryForMs = timeoutMs * 1.5, requestTimeoutMs = timeoutMs + 60_000, onRetry, signal } = options;
  const startedAt = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      const timeout = AbortSignal.timeout(requestTimeoutMs);
      const ends = signal ? AbortSignal.any([signal, timeout]) : timeout;
      return await sendOnce(url, { ...outgoing, signal: ends }, isSuccess);
    } catch (error) {
      signal?.throwIfAborted();
      const delayMs = getDelayMs(error as Error, tries);
      if (performance.now() - startedAt + delayMs > retryForMs) throw error;
      onRetry?.(error as Error, delayMs);
      await sleep(delayMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

async function sendOnce(
  url: string,
  outgoing: Outgoing & { signal: AbortSignal },
  isSuccess: IsSuccess,
): Promise<unknown> {
  const { statusCode, headers, body } = await request(url, { ...outgoing, dispatcher: getDispatcher() });
  const sent = await body.bytes();
  const isGzip = headers['content-encoding'] === 'gzip';
  const bytes = isGzip ? await promisify(gunzip)(sent, { maxOutputLength: MAX_RESPONSE_BYTES }) : sent;
  const text = new TextDecoder().decode(bytes);
  const json = parseJson(text);
  if (statusCode === 200 && isSuccess(json)) return json;
  const message = statusCode === 200 ? 'the response is not a success of the service' : text;
  throw new HttpError(
    statusCode,
    message,
    json,
    headers['x-request-id']?.toString(),
    headers['retry-after']?.toString(),
  );
}

/** @returns ms until the next request, at least a second; Infinity if another request would not help */
function getDelayMs(error: Error & { code?: string | number }, tries: number): number {
  const increasing = Math.min(1000 * 2 ** (tries - 1), 30_000);
  // Without a response, the outcome is unknown, and sending the request again is safe. An error without a code is not a network error.
  if (!(error instanceof HttpError)) return PERMANENT.test(String(error.code ?? 'CERT')) ? Infinity : increasing;
  const { status, retryAfter } = error;
  // The only 2xx that the service sends to the client is a success, so this response is from another server.
  if (status < 300) return Infinity;
  if (retryAfter === undefined) return TRANSIENT_STATUSES.includes(status) ? increasing : Infinity;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? increasing : Math.max(ms, 1000);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
