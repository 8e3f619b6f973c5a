import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction } from 'firebase-functions/v2/https';
import { abortable, systemClock } from '../clock';
import { apiKeySecret, assertAllowedOrigins } from '../config';
import { ERROR_DEFINITIONS, toApiError, toErrorResponse, type ApiError } from '../errors';
import { logRequest } from '../logging/requests';
import { createWorkContext } from '../work-context';
import { getTimeLimitMs } from '../time-limits';
import { runPipeline, type Endpoint, type Exchange, type HandlerResult } from './pipeline';
import { ClientGoneError, type RequestWithRawBody } from './request-body';
import { sendResponse } from './response';
import { runHandler } from './run-handler';
import { shutdown } from './shutdown';
import { parseTraceId } from './trace-id';

export type OperationFunction = HttpsFunction & { readonly operation: Omit<Endpoint<unknown>, 'handler'> };

export function defineEndpoint<Body>(definition: Omit<Endpoint<Body>, 'method'>): OperationFunction {
  const endpoint: Endpoint<Body> = { ...definition, method: definition.body ? 'POST' : 'GET' };
  if (endpoint.cors === true) assertAllowedOrigins();
  const options = { ...endpoint.runtimeOptions, secrets: [apiKeySecret] };
  const handle = onRequest(options, (request, response) =>
    runHandler(() => handleRequest(endpoint, request, response)),
  );
  return Object.assign(handle, { operation: endpoint });
}

/** Surrounds the pipeline of a request with its time limit, its id, its error response and its log line. */
async function handleRequest<Body>(
  endpoint: Endpoint<Body>,
  request: RequestWithRawBody,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const { runtimeOptions, writes = false } = endpoint;
  const timeLimitMs = getTimeLimitMs(runtimeOptions, writes);
  const createReason = () => new Error('the time for the request is up');
  const stopping = writes ? shutdown.abortWrites : shutdown.stopWaiting;
  const { signal, cancel } = systemClock.createTimeout(timeLimitMs, createReason, stopping.signal);
  const context = createWorkContext(signal, parseTraceId(request.headers));
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
    ...result?.facts,
    ...exchange.logFields,
    error,
  });
}

/** As nginx does, the service logs this status for a client that left before its response. It is never sent. */
const CLIENT_GONE_STATUS = 499;

/** Returns the status to log. The response may have begun with a different one, or may not have reached the client. */
function resolveLoggedStatus({ response, hasClientGone }: Exchange, error: ApiError | undefined): number {
  if (error !== undefined) return ERROR_DEFINITIONS[error.code].status;
  return hasClientGone ? CLIENT_GONE_STATUS : response.statusCode;
}

/** The request ids that a client can choose: short, printable, and safe to log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

function resolveRequestId({ headers }: IncomingMessage): string {
  const candidate = headers['x-request-id']?.toString() ?? '';
  return REQUEST_ID_PATTERN.test(candidate) ? candidate : randomUUID();
}

/** Sends an error. If a response has begun, breaks the connection, so that the response never looks complete. */
async function sendError(exchange: Exchange, error: ApiError): Promise<void> {
  const { response, context } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status } = ERROR_DEFINITIONS[error.code];
  const body = JSON.stringify(toErrorResponse(error));
  const outgoing = { status, headers: error.headers, body };
  const isSent = await sendResponse(response, outgoing, context).catch(() => false);
  exchange.hasClientGone = !isSent;
}
