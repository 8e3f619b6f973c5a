import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction, type HttpsOptions } from 'firebase-functions/v2/https';
import { createRequestContext, measurePhase, type RequestContext } from '../request-context';
import { abortable, systemClock } from '../clock';
import { apiKeySecret, assertAllowedOrigins, getAllowedOrigins, getApiKeys } from '../config';
import { ApiError, ERROR_DEFINITIONS, toApiError } from '../errors';
import { logRequest, type RequestLogEntry } from '../logging';
import { requireApiKey } from './api-key';
import { ClientWriter } from './client-writer';
import { applyCors } from './cors';
import { toErrorResponse } from './error-response';
import { startInstance } from './instance';
import {
  ClientGoneError,
  disableFrameworkBodyParsing,
  makeRequestUrlsRoutable,
  readBody,
  type RequestBody,
  type RequestWithRawBody,
} from './request-body';
import { sendResponse, type OutgoingResponse } from './response';
import { shutdown } from './shutdown';
import { readTraceId } from './trace-id';

/**
 * Request pipeline, in the order of {@link runPipeline}, with the statuses that end it. docs/api.md, docs/architecture.md
 * and scripts/openapi/document.ts tell it, functions/test/support/common-errors.ts tests it.
 *
 *     request id                         the client's if well-formed, else a new one
 *     preflight     204, 403             only where browsers may call
 *     method        405
 *     API key       500, 401             no byte of a body is read before
 *     body          400, 408, 413        only of a POST
 *     handler       200, 409, 500
 *     log           one line
 */

/** The response of a successful handler, and what is logged of it. */
interface HandlerResult extends Omit<OutgoingResponse, 'status'> {
  replayed?: boolean;
  /** Products accepted. By default the records of the response. */
  count?: number;
}

interface Endpoint<Body> {
  name: string;
  /** POST with a body, GET without. */
  method: 'GET' | 'POST';
  runtimeOptions: HttpsOptions & { timeoutSeconds: number };
  /** Whether browsers may call from the allowed origins. */
  cors?: boolean;
  body?: RequestBody<Body>;
  /** Milliseconds before the platform's timeout at which the handler is aborted, so that the client gets a response. */
  timeoutMarginMs?: number;
  /** Whether a stopping instance refuses what has not begun, and ends what has in time for its failure to be stored. */
  writes?: boolean;
  handler: (context: RequestContext, body: Body, requestId: string) => Promise<HandlerResult> | HandlerResult;
}

/** Metadata of an operation, for tests, the API description and the client. */
export type OperationFunction = HttpsFunction & { readonly operation: Omit<Endpoint<unknown>, 'handler'> };

interface Exchange {
  request: RequestWithRawBody;
  response: ServerResponse;
  /** Its signal aborts when the handler's time is up or the instance stops. */
  context: RequestContext;
  requestId: string;
  /** What the steps add to the log line. */
  logFields: Pick<RequestLogEntry, 'key_id' | 'origin'>;
  /** Whether the client has left before its response was sent. */
  hasClientGone: boolean;
}

const DEFAULT_TIMEOUT_MARGIN_MS = 5_000;

disableFrameworkBodyParsing();
makeRequestUrlsRoutable();
startInstance();

/** Makes the Cloud Function of an operation. */
export function defineEndpoint<Body>(definition: Omit<Endpoint<Body>, 'method'>): OperationFunction {
  const endpoint: Endpoint<Body> = { ...definition, method: definition.body ? 'POST' : 'GET' };
  if (endpoint.cors === true) assertAllowedOrigins();
  const options = { ...endpoint.runtimeOptions, secrets: [apiKeySecret], invoker: 'public' as const };
  const handle = onRequest(options, (request, response) => handleRequest(endpoint, request, response));
  return Object.assign(handle, { operation: endpoint });
}

async function handleRequest<Body>(
  endpoint: Endpoint<Body>,
  request: RequestWithRawBody,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const { runtimeOptions, timeoutMarginMs = DEFAULT_TIMEOUT_MARGIN_MS, writes = false } = endpoint;
  const timeLimitMs = runtimeOptions.timeoutSeconds * 1000 - timeoutMarginMs;
  const createReason = () => new Error('the time for the request is up');
  const stopping = writes ? shutdown.abortWrites : shutdown.stopWaiting;
  const { signal, cancel } = systemClock.createTimeout(timeLimitMs, createReason, stopping.signal);
  const context = createRequestContext(signal, readTraceId(request.headers));
  const requestId = resolveRequestId(request);
  const exchange: Exchange = { request, response, context, requestId, logFields: {}, hasClientGone: false };
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');

  let result: HandlerResult | undefined;
  let error: ApiError | undefined;
  try {
    result = await abortable(shutdown.stopWaiting.signal, () => runPipeline(endpoint, exchange));
  } catch (cause) {
    if (cause instanceof ClientGoneError) exchange.hasClientGone = true;
    else {
      error = toApiError(cause);
      await sendError(exchange, error);
    }
  } finally {
    cancel();
  }
  logRequest({
    operation: endpoint.name,
    request_id: requestId,
    method: request.method ?? '',
    status: resolveLoggedStatus(exchange, error),
    client_gone: exchange.hasClientGone || undefined,
    duration_ms: Math.round(performance.now() - startedAt),
    firestore_calls: context.counters.firestoreCalls,
    retries: context.counters.retries,
    phases_ms: context.counters.phasesMs,
    count: result && (result.count ?? context.counters.records),
    replayed: result?.replayed,
    ...exchange.logFields,
    error,
  });
}

/** What web servers commonly log, and never send, for a client that left before it had its response. */
const CLIENT_GONE_STATUS = 499;

/** Returns the status for the log: the response may have begun with another one, or may not have reached the client. */
function resolveLoggedStatus({ response, hasClientGone }: Exchange, error: ApiError | undefined): number {
  if (error !== undefined) return ERROR_DEFINITIONS[error.code].status;
  return hasClientGone ? CLIENT_GONE_STATUS : response.statusCode;
}

/** A request id that a client may choose: printable, short, and harmless in a log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

function resolveRequestId({ headers }: IncomingMessage): string {
  const candidate = headers['x-request-id']?.toString() ?? '';
  return REQUEST_ID_PATTERN.test(candidate) ? candidate : randomUUID();
}

/** @returns undefined for a preflight, which has no handler */
async function runPipeline<Body>(endpoint: Endpoint<Body>, exchange: Exchange): Promise<HandlerResult | undefined> {
  const { request, response, context, requestId } = exchange;
  if (endpoint.cors === true && (await handleCors(exchange))) return undefined;
  if (request.method !== endpoint.method) {
    const headers = { Allow: endpoint.method };
    throw new ApiError('method_not_allowed', `method ${request.method ?? ''} not allowed`, { headers });
  }
  exchange.logFields.key_id = requireApiKey(request.headers, getApiKeys());
  const body = await readEndpointBody(endpoint, request, context);
  const result = await endpoint.handler(context, body, requestId);
  exchange.hasClientGone = !(await sendResponse(response, { status: 200, ...result }, context));
  return result;
}

async function readEndpointBody<Body>(
  { body, writes = false }: Endpoint<Body>,
  request: RequestWithRawBody,
  { signal, counters }: RequestContext,
): Promise<Body> {
  // The handler of a GET takes no body.
  if (body === undefined) return undefined as Body;
  // What writes begins after its body.
  const parent = writes ? AbortSignal.any([signal, shutdown.refuseWrites.signal]) : signal;
  return measurePhase(counters, 'body', () => readBody(request, body, parent));
}

/** An origin is sent by the client and may have any length. */
const MAX_LOGGED_ORIGIN_LENGTH = 300;

/** @returns whether the request was a preflight, and has its response */
async function handleCors(exchange: Exchange): Promise<boolean> {
  const { request, response, context, logFields } = exchange;
  const isAllowed = applyCors(request, response, getAllowedOrigins());
  if (request.method !== 'OPTIONS') return false;
  if (!isAllowed) {
    logFields.origin = request.headers.origin?.slice(0, MAX_LOGGED_ORIGIN_LENGTH) ?? '';
    throw new ApiError('origin_not_allowed', 'CORS_ALLOWED_ORIGINS does not have the origin of a preflight');
  }
  response.statusCode = 204;
  exchange.hasClientGone = !(await new ClientWriter(response, context).end());
  return true;
}

/** Sends an error response. If a response has begun, breaks the connection, so that a partial one never looks complete. */
async function sendError(exchange: Exchange, error: ApiError): Promise<void> {
  const { response, context } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status } = ERROR_DEFINITIONS[error.code];
  const body = JSON.stringify(toErrorResponse(error));
  const outgoing = { status, headers: error.headers, body };
  // Its time may be up already: an instance that stops is what ends the waiting for the client.
  const isSent = await sendResponse(response, outgoing, { ...context, signal: shutdown.stopWaiting.signal }).catch(
    () => false,
  );
  exchange.hasClientGone = !isSent;
}
