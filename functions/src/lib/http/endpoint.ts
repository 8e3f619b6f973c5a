import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction, type HttpsOptions } from 'firebase-functions/v2/https';
import { createTimeout } from '../clock';
import { getAllowedOrigins, getApiKeys, apiKeySecret } from '../config';
import { logRequest } from '../logging';
import { createCallContext, type CallContext } from '../call-context';
import { isValidApiKey } from './api-key';
import { disableFrameworkBodyParsing, readBody, type RequestWithRawBody } from './request-body';
import { applyCors } from './cors';
import { toApiError, toErrorResponse, ERROR_DEFINITIONS, ApiError } from '../errors';
import type { BodyParser } from '../json/streaming-parser';
import { sendResponse, type OutgoingResponse } from './response';

/**
 * The pipeline of every request, in this order (contract, section 7):
 *
 *     request id                         the caller's if well-formed, else made
 *     preflight     204, 403             only where browsers may call
 *     method        405 and Allow
 *     key set       500
 *     key valid     401                  no byte of a body is read before
 *     body          400, 408, 413        only of a POST
 *     work          200, 409, 500
 *     log           one line
 */

/** What an operation's work is given besides the body. */
export interface RequestContext {
  /** What the request asks of Firestore is counted here; its signal aborts when the time for the work is up. */
  callContext: CallContext;
  requestId: string;
}

/** What an operation answers when all is well, and what the log says of it. */
export interface HandlerResult {
  body: OutgoingResponse['body'];
  headers?: Record<string, string>;
  replayed?: boolean;
  /** Products accepted; of an operation that lists, what is counted is the records that it answers. */
  count?: number;
}

interface RuntimeOptions extends HttpsOptions {
  timeoutSeconds: number;
}

/** What the function of an operation says of itself: tests, the API description and the client follow from it. */
export interface OperationInfo {
  name: string;
  method: 'GET' | 'POST';
  /** Whether browsers may call from the allowed origins. */
  cors: boolean;
  runtimeOptions: RuntimeOptions;
  /** Only of a POST: milliseconds that a client may take to send the body, and what validates it. */
  body?: { timeoutMs: number; createParser: () => BodyParser<unknown> };
}

/** A Cloud Function with its {@link OperationInfo}. */
export type OperationFunction = HttpsFunction & { readonly operation: OperationInfo };

interface BaseEndpoint {
  name: string;
  runtimeOptions: RuntimeOptions;
  /** Whether browsers may call from the allowed origins. */
  cors?: boolean;
  /** Milliseconds before the platform's time-out at which the work is given up, so that the caller is still answered. */
  timeoutMarginMs?: number;
}

interface GetEndpoint extends BaseEndpoint {
  method: 'GET';
  handler: (context: RequestContext) => Promise<HandlerResult> | HandlerResult;
}

interface PostEndpoint<Body> extends BaseEndpoint {
  method: 'POST';
  /** A reader of one request's body. */
  createParser: () => BodyParser<Body>;
  /** Milliseconds that a caller may take to send the body. */
  bodyTimeoutMs: number;
  handler: (context: RequestContext, body: Body) => Promise<HandlerResult> | HandlerResult;
}

const DEFAULT_TIMEOUT_MARGIN_MS = 5_000;

disableFrameworkBodyParsing();

/** The Cloud Function of an operation. */
export function defineEndpoint(endpoint: GetEndpoint): OperationFunction;
export function defineEndpoint<Body>(endpoint: PostEndpoint<Body>): OperationFunction;
export function defineEndpoint<Body>(endpoint: GetEndpoint | PostEndpoint<Body>): OperationFunction {
  const { name, method, cors = false, runtimeOptions } = endpoint;
  const options = { ...runtimeOptions, secrets: [apiKeySecret], invoker: 'public' as const };
  const body =
    endpoint.method === 'POST'
      ? { body: { timeoutMs: endpoint.bodyTimeoutMs, createParser: endpoint.createParser } }
      : {};
  return Object.assign(
    onRequest(options, (request, response) => handleRequest(endpoint, request, response)),
    { operation: { name, method, cors, runtimeOptions, ...body } },
  );
}

async function handleRequest<Body>(
  operation: GetEndpoint | PostEndpoint<Body>,
  request: RequestWithRawBody,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const { runtimeOptions, timeoutMarginMs = DEFAULT_TIMEOUT_MARGIN_MS } = operation;
  const { signal, cancel } = createTimeout(runtimeOptions.timeoutSeconds * 1000 - timeoutMarginMs);
  const context: RequestContext = { callContext: createCallContext(signal), requestId: resolveRequestId(request) };
  response.setHeader('X-Request-Id', context.requestId);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');

  let result: HandlerResult | undefined;
  let error: ApiError | undefined;
  try {
    result = await runPipeline(operation, request, response, context);
  } catch (cause) {
    error = toApiError(cause);
    await sendError(request, response, error);
  } finally {
    cancel();
  }
  logRequest({
    operation: operation.name,
    request_id: context.requestId,
    method: request.method ?? '',
    // An error may have come too late to be answered, or to a caller who has gone away: the log has it as it is.
    status: error === undefined ? response.statusCode : ERROR_DEFINITIONS[error.code].status,
    duration_ms: Math.round(performance.now() - startedAt),
    firestore_calls: context.callContext.callCount,
    count: result && (result.count ?? context.callContext.documentCount),
    replayed: result?.replayed,
    error,
  });
}

/** Walks the pipeline up to the answer. @returns undefined for a preflight, which is no operation */
async function runPipeline<Body>(
  operation: GetEndpoint | PostEndpoint<Body>,
  request: RequestWithRawBody,
  response: ServerResponse,
  context: RequestContext,
): Promise<HandlerResult | undefined> {
  if (operation.cors === true) {
    const origin = applyCors(request, response, getAllowedOrigins());
    if (request.method === 'OPTIONS') {
      if (origin === 'rejected')
        throw new ApiError('origin_not_allowed', { logMessage: 'preflight of an origin not allowed' });
      response.writeHead(204).end();
      return undefined;
    }
  }
  if (request.method !== operation.method) {
    throw new ApiError('method_not_allowed', {
      logMessage: `method ${request.method ?? ''} refused`,
      headers: { Allow: operation.method },
    });
  }
  authenticate(request);
  const result = await invokeHandler(operation, request, context);
  await sendResponse(request, response, { status: 200, ...result });
  return result;
}

function authenticate({ headers }: IncomingMessage): void {
  const keys = getApiKeys();
  if (keys.length === 0) throw new ApiError('api_key_not_configured', { logMessage: 'the API key setting is blank' });
  const presented = headers['x-api-key'];
  if (!isValidApiKey(Array.isArray(presented) ? presented.join(', ') : presented, keys)) {
    throw new ApiError('invalid_api_key', {
      logMessage: presented === undefined ? 'no API key presented' : 'an API key presented that is not configured',
    });
  }
}

async function invokeHandler<Body>(
  operation: GetEndpoint | PostEndpoint<Body>,
  request: RequestWithRawBody,
  context: RequestContext,
): Promise<HandlerResult> {
  switch (operation.method) {
    case 'GET':
      return operation.handler(context);
    case 'POST': {
      const { signal, cancel } = createTimeout(operation.bodyTimeoutMs);
      const body = await readBody(request, operation.createParser(), signal).finally(cancel);
      return operation.handler(context, body);
    }
  }
}

/** Answers with an error, or, when part of an answer is out already, breaks the connection: never half of one as whole. */
async function sendError(request: IncomingMessage, response: ServerResponse, error: ApiError): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status } = ERROR_DEFINITIONS[error.code];
  await sendResponse(request, response, {
    status,
    headers: error.headers,
    body: JSON.stringify(toErrorResponse(error)),
  });
}

/** A request id that a caller may choose: printable, short, and harmless in a log. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/;

function resolveRequestId({ headers }: IncomingMessage): string {
  const presented = headers['x-request-id'];
  return typeof presented === 'string' && REQUEST_ID_PATTERN.test(presented) ? presented : randomUUID();
}
