import type { ServerResponse } from 'node:http';
import type { HttpsOptions } from 'firebase-functions/v2/https';
import { areWritesPaused, getAllowedOrigins, getApiKeys } from '../config';
import { ApiError } from '../errors';
import { shutdown } from '../instance/shutdown';
import { logLargeBody, type RequestLogEntry } from '../logging/request-line';
import { LARGE_BODY_BYTES, toHeldBytes, type FunctionMemory } from '../memory';
import { takeTurn } from '../turn';
import { measurePhase, type WorkContext } from '../work-context';
import { requireApiKey } from './api-key';
import { applyCors } from './cors';
import type { MemoryShare } from './memory-budget';
import { checkBodyHeaders, readBody, scanBody, type RequestBody, type RequestWithRawBody } from './request-body';
import type { OutgoingResponse } from './response';

/**
 * Request pipeline, in the order of {@link runPipeline}, with the statuses that end it. docs/api.md and
 * dev/generate/openapi/document.ts repeat the order, and the tests in functions/test/endpoints check it.
 *
 *     preflight     204, 403             only for an operation with `cors`
 *     method        405
 *     API key       500, 401             before any byte of a body is read
 *     pause         503                  only for an operation that writes
 *     body headers  400, 413             only for a POST
 *     memory        503                  only for an operation that writes
 *     body          400, 408, 413, 500   only for a POST; 500 if the instance stops
 *     handler       200, 409, 413, 500
 */

export interface HandlerResult extends OutgoingResponse {
  /** For the log: the number of accepted products, or of the records in the response so far. */
  readonly count?: number;
  replayed?: boolean;
  facts?: Pick<RequestLogEntry, 'market_found' | 'currency_differs'>;
}

export interface Endpoint<Body> {
  name: string;
  /** POST for an operation with a body, otherwise GET. */
  method: 'GET' | 'POST';
  runtimeOptions: Omit<HttpsOptions, keyof FunctionMemory> & FunctionMemory & { timeoutSeconds: number };
  /** Whether browsers can call the operation from pages of the allowed origins. */
  cors?: boolean;
  body?: RequestBody<Body>;
  /** Whether the operation writes. If so, a pause or a stop refuses requests, and a failure has time to be stored. */
  writes?: boolean;
  handler: (context: WorkContext, body: Body, sender: Sender) => Promise<HandlerResult> | HandlerResult;
}

interface Sender {
  requestId: string;
  /** Name of the accepted API key. */
  apiKeyId: string;
}

export interface Exchange {
  request: RequestWithRawBody;
  response: ServerResponse;
  /** Its signal aborts when the request's time is up or the instance stops. */
  context: WorkContext;
  /** What the request holds in memory. */
  share: MemoryShare;
  requestId: string;
  logFields: Pick<RequestLogEntry, 'key_id' | 'origin'>;
}

export async function runPipeline<Body>(endpoint: Endpoint<Body>, exchange: Exchange): Promise<HandlerResult> {
  const { request, response, context, requestId, logFields } = exchange;
  if (endpoint.cors === true) {
    const isAllowed = applyCors(request, response, getAllowedOrigins());
    if (request.method === 'OPTIONS') {
      if (isAllowed) return { status: 204 };
      logFields.origin = toLoggedOrigin(request.headers.origin ?? '');
      throw new ApiError('origin_not_allowed', 'CORS_ALLOWED_ORIGINS does not list the origin of a preflight');
    }
  }
  if (request.method !== endpoint.method) {
    const headers = { Allow: endpoint.method };
    throw new ApiError('method_not_allowed', `method ${request.method ?? ''} not allowed`, { headers });
  }
  const apiKeyId = requireApiKey(request.headers, getApiKeys());
  logFields.key_id = apiKeyId;
  if (endpoint.writes === true && areWritesPaused()) {
    throw new ApiError('writes_paused', 'WRITES_PAUSED is true', { retryAfterMs: PAUSE_RETRY_AFTER_MS });
  }
  const sender = { requestId, apiKeyId };
  // The body of a GET is ignored.
  if (endpoint.body === undefined) return endpoint.handler(context, undefined as Body, sender);
  const { body } = endpoint;
  const value = await measurePhase(context.counters, 'body', () => readAndScan(endpoint, body, exchange, sender));
  await takeTurn();
  return endpoint.handler(context, body.parse(value), sender);
}

export const PAUSE_RETRY_AFTER_MS = 300_000;

export const BUSY_RETRY_AFTER_MS = 10_000;

/** Separate from {@link runPipeline}, so that the bytes can be freed before `body.parse` validates the values. */
async function readAndScan<Body>(
  { name, writes = false }: Endpoint<Body>,
  body: RequestBody<Body>,
  { request, context: { signal }, share }: Exchange,
  { requestId: request_id, apiKeyId: key_id }: Sender,
): Promise<unknown> {
  const encoding = checkBodyHeaders(request, body.maxBytes);
  if (writes && !share.tryResize(toHeldBytes(encoding.maxInflatedBytes))) {
    throw new ApiError('too_many_price_lists', 'the price lists in progress fill the memory', {
      retryAfterMs: BUSY_RETRY_AFTER_MS,
    });
  }
  // A stopping instance refuses a request that would write, which is safe, because its handler has not begun yet.
  const parent = writes ? AbortSignal.any([signal, shutdown.refuseWrites.signal]) : signal;
  const bytes = await readBody(request, body, encoding, parent);
  if (writes) share.tryResize(toHeldBytes(bytes.length));
  // If the scan of the body ends the instance, no other line of the log names the sender.
  if (bytes.length >= LARGE_BODY_BYTES) logLargeBody({ operation: name, request_id, key_id, bytes: bytes.length });
  await takeTurn();
  return scanBody(bytes, body.shape);
}

const MAX_LOGGED_ORIGIN_LENGTH = 300;

/** Cuts an origin and replaces unusual characters, because a client can send any text as its origin. */
const toLoggedOrigin = (origin: string): string => origin.slice(0, MAX_LOGGED_ORIGIN_LENGTH).replace(/[^!-~]/g, '?');
