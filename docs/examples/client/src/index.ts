import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { operations as Api } from './api.js';
import { operations } from './operations.js';
import { requireLists, type AddPriceListsBody, type CreatedPriceLists, type CurrencyOptions } from './price-lists.js';
import { getDelayMs, judgeResponse, type HttpResponse } from './retry.js';

/** A typed client of the service. `npm run generate` writes `api.ts` and `operations.ts`. */

export type { components } from './api.js';
export { MarketNotFoundError, OtherCurrencyError, type CreatedPriceLists } from './price-lists.js';

export type OperationName = keyof typeof operations;

interface JsonContent<T> {
  content: { 'application/json': T };
}

/** The request body of an operation; `never` for an operation without one. */
export type RequestBody<Name extends OperationName> = Api[Name] extends { requestBody: JsonContent<infer T> }
  ? T
  : never;

/** The body of an operation's 200 response. */
export type ResponseBody<Name extends OperationName> = Api[Name] extends { responses: { 200: JsonContent<infer T> } }
  ? T
  : never;

export interface CallOptions {
  /** Cancels the call and its retries. */
  signal?: AbortSignal;
}

type Call<Name extends OperationName> = [RequestBody<Name>] extends [never]
  ? (options?: CallOptions) => Promise<ResponseBody<Name>>
  : (body: RequestBody<Name>, options?: CallOptions) => Promise<ResponseBody<Name>>;

type Calls = { readonly [Name in OperationName]: Call<Name> };

/** One method for each operation. */
export interface Client extends Omit<Calls, 'addPriceLists'> {
  /**
   * Resolves once both lists are created in the currency of the request, by this call or an earlier one.
   *
   * @throws MarketNotFoundError if no market has the `market_id`, so no list was created
   * @throws OtherCurrencyError if the lists have another currency, unless `acceptOtherCurrency` is true
   */
  readonly addPriceLists: (
    body: AddPriceListsBody,
    options?: CallOptions & CurrencyOptions,
  ) => Promise<CreatedPriceLists>;
}

export interface Retry {
  operation: OperationName;
  /** The first retry is 1. */
  retry: number;
  /** Why the previous try failed. */
  reason: string;
  /** Milliseconds until the retry. */
  delayMs: number;
}

export interface ClientOptions {
  /** Milliseconds after which a call is no longer retried. Default: 1.5 times the operation's timeout. */
  retryForMs?: number;
  /** Milliseconds that one request may take. Default: one minute more than the operation's timeout. */
  requestTimeoutMs?: number;
  /** Called before each retry. By default, the client writes the retry to stderr. */
  onRetry?: (retry: Retry) => void;
}

/** An error response that is not retried. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  /**
   * @param status HTTP status
   * @param body `{ error }`, or `{ success, message, errors }` for an invalid body; text if it is
   *   not JSON
   * @param requestId give it to support if you ask about the request
   */
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly requestId: string | undefined,
  ) {
    super(`${status} ${typeof body === 'string' ? body : JSON.stringify(body)}`);
  }
}

/** The call did not succeed in time. `cause` is the error of the last try. */
export class RetriesExhaustedError extends Error {
  override readonly name = 'RetriesExhaustedError';

  constructor(
    readonly tries: number,
    reason: string,
    cause: Error,
  ) {
    super(`no success after ${tries} tries, the last: ${reason}`, { cause });
  }
}

/**
 * @param baseUrl the address that all operations have in common, such as
 *   `http://127.0.0.1:5001/demo-price-lists/us-central1`
 * @throws TypeError if `baseUrl` is not an HTTP URL, or `apiKey` cannot be sent as a header
 */
export function createClient(baseUrl: string, apiKey: string, options: ClientOptions = {}): Client {
  if (!/^https?:\/\/[^/]/.test(baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://');
  if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey must not be empty or contain spaces or line breaks');
  const base = baseUrl.replace(/\/+$/, '');

  const toMethod = (name: OperationName) => {
    const url = new URL(`${base}/${name}`);
    return operations[name].method === 'POST'
      ? (body: unknown, call?: CallOptions) => callWithRetries(name, { url, apiKey, body, ...options, ...call })
      : (call?: CallOptions) => callWithRetries(name, { url, apiKey, ...options, ...call });
  };
  const names = Object.keys(operations) as OperationName[];
  const calls = Object.fromEntries(names.map((name) => [name, toMethod(name)])) as unknown as Calls;
  return {
    ...calls,
    addPriceLists: async (body, { acceptOtherCurrency, ...call } = {}) =>
      requireLists(body, await calls.addPriceLists(body, call), { acceptOtherCurrency }),
  };
}

interface RequestOptions extends ClientOptions, CallOptions {
  url: URL;
  apiKey: string;
  body?: unknown;
}

type CallResult =
  | { kind: 'success'; body: unknown }
  | { kind: 'failure'; error: HttpError }
  | { kind: 'retry'; reason: string; error: Error; afterMs?: number | undefined };

const logRetry = ({ operation, retry, reason, delayMs }: Retry): void =>
  console.error(`${operation}: ${reason}; retry ${retry} in ${Math.ceil(delayMs / 1000)} s`);

async function callWithRetries(operation: OperationName, options: RequestOptions): Promise<unknown> {
  const { timeoutMs } = operations[operation];
  const { retryForMs = timeoutMs * 1.5, requestTimeoutMs = timeoutMs + 60_000, onRetry = logRetry, signal } = options;
  const encoded = await encodeBody(options.body);
  const retryUntil = Date.now() + retryForMs;
  for (let tries = 1; ; tries++) {
    const result = await sendOnce(operation, encoded, { ...options, requestTimeoutMs });
    if (result.kind === 'success') return result.body;
    if (result.kind === 'failure') throw result.error;
    const { reason, error, afterMs = getDelayMs(tries) } = result;
    if (Date.now() + afterMs > retryUntil) throw new RetriesExhaustedError(tries, reason, error);
    onRetry({ operation, retry: tries, reason, delayMs: afterMs });
    await sleep(afterMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

interface EncodedBody {
  bytes?: Buffer;
  headers: Record<string, string | number>;
}

/** Minimum size of a body that is sent as gzip. */
const MIN_GZIP_BYTES = 64 * 1024;

async function encodeBody(body: unknown): Promise<EncodedBody> {
  if (body === undefined) return { headers: {} };
  const json = Buffer.from(JSON.stringify(body));
  const isLarge = json.length >= MIN_GZIP_BYTES;
  const bytes = isLarge ? await promisify(gzip)(json) : json;
  const headers = { 'Content-Type': 'application/json', 'Content-Length': bytes.length };
  return { bytes, headers: isLarge ? { ...headers, 'Content-Encoding': 'gzip' } : headers };
}

async function sendOnce(
  operation: OperationName,
  { bytes, headers }: EncodedBody,
  { url, apiKey, signal, requestTimeoutMs }: RequestOptions & { requestTimeoutMs: number },
): Promise<CallResult> {
  const timeout = AbortSignal.timeout(requestTimeoutMs);
  try {
    const response = await request(url, bytes, {
      method: operations[operation].method,
      headers: { ...headers, 'x-api-key': apiKey, 'Accept-Encoding': 'gzip' },
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return toResult(response);
  } catch (cause) {
    signal?.throwIfAborted();
    // Without a response, the outcome is unknown. Sending the request again is always safe.
    const error = cause instanceof Error ? cause : new Error(String(cause));
    const reason = timeout.aborted ? `none within ${requestTimeoutMs / 1000} s` : error.message;
    return { kind: 'retry', reason: `no response: ${reason}`, error };
  }
}

interface HttpRequestOptions {
  method: string;
  headers: Record<string, string | number>;
  signal: AbortSignal;
}

/** Sends one request, without `fetch`, because that stops waiting for the response headers after 300 s. */
function request(url: URL, body: Buffer | undefined, options: HttpRequestOptions): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const start = url.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = start(url, options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      incoming.on('end', () => {
        const { statusCode: status = 0, headers } = incoming;
        const bytes = Buffer.concat(chunks);
        const decoded = headers['content-encoding'] === 'gzip' ? promisify(gunzip)(bytes) : Promise.resolve(bytes);
        decoded.then((plain) => resolve({ status, headers, text: plain.toString('utf8') }), reject);
      });
    });
    outgoing.on('error', reject).end(body);
  });
}

function toResult(response: HttpResponse): CallResult {
  const judgement = judgeResponse(response);
  if (judgement.kind === 'success') return judgement;

  const { status, headers } = response;
  const requestId = headers['x-request-id'];
  const error = new HttpError(status, judgement.body, typeof requestId === 'string' ? requestId : undefined);
  if (judgement.kind === 'failure') return { kind: 'failure', error };
  const reason = judgement.isForeign ? `${status}, but not with a response of the service` : error.message;
  return { kind: 'retry', reason, error, afterMs: judgement.afterMs };
}
