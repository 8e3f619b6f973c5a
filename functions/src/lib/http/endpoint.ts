import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction } from 'firebase-functions/v2/https';
import { abortable, systemClock } from '../clock';
import { apiKeySecret, assertAllowedOrigins } from '../config';
import { ERROR_DEFINITIONS, toApiError, toErrorResponse, type ApiError } from '../errors';
import { getTraceId } from '../instance/prepare-request';
import { runHandler, shutdown } from '../instance/shutdown';
import { logRequest } from '../logging/request-line';
import { getTimeLimitMs } from '../time-limits';
import { createWorkContext } from '../work-context';
import { runPipeline, type Endpoint, type Exchange, type HandlerResult } from './pipeline';
import { ClientGoneError, type RequestWithRawBody } from './request-body';
import { sendResponse, type OutgoingResponse } from './response';

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

async function handleRequest<Body>(
  endpoint: Endpoint<Body>,
  request: RequestWithRawBody,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const { runtimeOptions, writes = false } = endpoint;
  const createReason = () => new Error('the time for the request is up');
  const stopping = writes ? shutdown.abortWrites : shutdown.stopWaiting;
  const timeLimitMs = getTimeLimitMs(runtimeOptions, writes);
  const { signal, cancel } = systemClock.createTimeout(timeLimitMs, createReason, stopping.signal);
  const context = createWorkContext(signal, getTraceId(request.headers));
  const exchange: Exchange = { request, response, context, requestId: resolveRequestId(request), logFields: {} };

  let result: HandlerResult | undefined;
  let error: ApiError | undefined;
  let isSent = false;
  try {
    isSent = await abortable(shutdown.stopWaiting.signal, async () => {
      const answer = await runPipeline(endpoint, exchange);
      const sent = await send(exchange, answer);
      result = answer;
      return sent;
    });
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
    request_id: exchange.requestId,
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

/** As nginx does, the service logs this status for a client that left before its response. It is never sent. */
const CLIENT_GONE_STATUS = 499;

/** The request ids that a client can choose: short, printable, and safe to log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

function resolveRequestId({ headers }: IncomingMessage): string {
  const candidate = headers['x-request-id']?.toString() ?? '';
  return REQUEST_ID_PATTERN.test(candidate) ? candidate : randomUUID();
}

const send = ({ response, requestId, context }: Exchange, { status, headers, body }: OutgoingResponse) =>
  sendResponse(response, { status, headers: { 'X-Request-Id': requestId, ...headers }, body }, context);

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
      return await send(exchange, { status, headers: error.headers, body: JSON.stringify(toErrorResponse(error)) });
    }
  } catch {
    // The client did not read the response in time.
  }
  response.destroy();
  return true;
}
