import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction } from 'firebase-functions/v2/https';
import { abortable, systemClock } from '../clock';
import { apiKeySecret, assertAllowedOrigins } from '../config';
import {
  ClientGoneError,
  ERROR_DEFINITIONS,
  LoggableError,
  toApiError,
  toErrorResponse,
  type ApiError,
} from '../errors';
import { getTraceId } from '../instance/prepare-request';
import { runHandler, shutdown } from '../instance/shutdown';
import { logRequest } from '../logging/request-line';
import { getMaxHeldBytes } from '../memory';
import { getTimeLimitMs } from '../time-limits';
import { createWorkContext } from '../work-context';
import { MemoryBudget } from './memory-budget';
import { runPipeline, type Endpoint, type Exchange, type HandlerResult } from './pipeline';
import type { RequestWithRawBody } from './request-body';
import { sendResponse, type OutgoingResponse } from './response';

export type OperationFunction = HttpsFunction & { readonly operation: Omit<Endpoint<unknown>, 'handler'> };

export function defineEndpoint<Body>(definition: Omit<Endpoint<Body>, 'method'>): OperationFunction {
  const endpoint: Endpoint<Body> = { ...definition, method: definition.body ? 'POST' : 'GET' };
  if (endpoint.cors === true) assertAllowedOrigins();
  const options = { ...endpoint.runtimeOptions, secrets: [apiKeySecret] };
  const budget = new MemoryBudget(getMaxHeldBytes(endpoint.runtimeOptions));
  const handle = onRequest(options, (request, response) =>
    runHandler(() => handleRequest(endpoint, budget, request, response)),
  );
  return Object.assign(handle, { operation: endpoint });
}

async function handleRequest<Body>(
  endpoint: Endpoint<Body>,
  budget: MemoryBudget,
  request: RequestWithRawBody,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const { runtimeOptions, writes = false } = endpoint;
  const createReason = () => new LoggableError('the time for the request is up');
  const stopping = writes ? shutdown.abortWrites : shutdown.stopWaiting;
  const timeLimitMs = getTimeLimitMs(runtimeOptions, writes);
  const { signal, cancel } = systemClock.createTimeout(timeLimitMs, createReason, stopping.signal);
  const context = createWorkContext(signal, getTraceId(request.headers));
  const requestId = resolveRequestId(request);
  const exchange: Exchange = { request, response, context, share: budget.createShare(), requestId, logFields: {} };

  let result: HandlerResult | undefined;
  let error: ApiError | undefined;
  let isSent = false;
  try {
    await abortable(shutdown.stopWaiting.signal, async () => {
      result = await answerRequest(endpoint, exchange);
    });
    isSent = true;
  } catch (cause) {
    if (!(cause instanceof ClientGoneError)) {
      error = toApiError(cause);
      isSent = await sendError(exchange, error);
    }
  } finally {
    cancel();
  }
  const status = error && ERROR_DEFINITIONS[error.code].status;
  logRequest({
    operation: endpoint.name,
    request_id: requestId,
    method: request.method ?? '',
    status: status ?? (isSent ? response.statusCode : CLIENT_GONE_STATUS),
    client_gone: isSent ? undefined : true,
    duration_ms: Math.round(performance.now() - startedAt),
    firestore_calls: context.counters.firestoreCalls,
    retries: context.counters.retries,
    phases_ms: context.counters.phasesMs,
    count: result?.count,
    replayed: result?.replayed,
    ...result?.facts,
    ...exchange.logFields,
    error,
  });
}

/**
 * Runs the pipeline and sends its response. Releases the share of memory when this work ends, which can be after the client
 * has left or the instance has stopped waiting.
 */
async function answerRequest<Body>(endpoint: Endpoint<Body>, exchange: Exchange): Promise<HandlerResult> {
  try {
    const result = await runPipeline(endpoint, exchange);
    await send(exchange, result);
    return result;
  } finally {
    exchange.share.release();
  }
}

/** As nginx does, the service logs this status if the client left early and no error occurred. It is never sent. */
const CLIENT_GONE_STATUS = 499;

/** The request ids that a client can choose: short, printable, and safe to log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

function resolveRequestId({ headers }: IncomingMessage): string {
  const candidate = headers['x-request-id']?.toString() ?? '';
  return REQUEST_ID_PATTERN.test(candidate) ? candidate : randomUUID();
}

const send = ({ response, requestId, context, share }: Exchange, { status, headers, body }: OutgoingResponse) =>
  sendResponse(response, { status, headers: { 'X-Request-Id': requestId, ...headers }, body }, context, share);

/**
 * Sends an error. If a response has begun, breaks the connection, so that the response never looks complete.
 *
 * @returns false if the client left before it had the error response; true otherwise, even if this function broke the connection
 */
async function sendError(exchange: Exchange, error: ApiError): Promise<boolean> {
  const { response } = exchange;
  try {
    if (!response.headersSent) {
      const { status } = ERROR_DEFINITIONS[error.code];
      await send(exchange, { status, headers: error.headers, body: JSON.stringify(toErrorResponse(error)) });
      return true;
    }
  } catch (cause) {
    if (cause instanceof ClientGoneError) return false;
    // The client did not read the response in time.
  }
  response.destroy();
  return true;
}
