import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onRequest, type HttpsFunction, type HttpsOptions } from 'firebase-functions/v2/https';
import { deadline } from '../clock';
import { allowedOrigins, apiKeys, apiKeySecret } from '../config';
import { logRequest } from '../logging';
import { usageUntil, type Usage } from '../repositories/usage';
import { isValidKey } from './api-key';
import { keepBodiesUnparsed, readBody, type IncomingRequest } from './body';
import { applyCors } from './cors';
import { asServiceError, errorBody, errorTable, ServiceError } from './errors';
import type { BodyReader } from './json';
import { send, type Answer } from './response';

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
export interface Context {
  /** What the request asks of Firestore is counted here; its signal aborts when the time for the work is up. */
  usage: Usage;
  requestId: string;
}

/** What an operation answers when all is well, and what the log says of it. */
export interface Done {
  body: Answer['body'];
  headers?: Record<string, string>;
  replayed?: boolean;
  /** Products accepted; of an operation that lists, what is counted is the records that it answers. */
  count?: number;
}

interface Settings extends HttpsOptions {
  timeoutSeconds: number;
}

interface Operation {
  name: string;
  settings: Settings;
  /** Whether browsers may call from the allowed origins. */
  browsers?: boolean;
  /** Milliseconds before the platform's time-out at which the work is given up, so that the caller is still answered. */
  reserveMs?: number;
}

interface Get extends Operation {
  method: 'GET';
  work: (context: Context) => Promise<Done> | Done;
}

interface Post<Body> extends Operation {
  method: 'POST';
  /** A reader of one request's body. */
  reader: () => BodyReader<Body>;
  /** Milliseconds that a caller may take to send the body. */
  bodyMs: number;
  work: (context: Context, body: Body) => Promise<Done> | Done;
}

const RESERVE_MS = 5_000;

keepBodiesUnparsed();

/** The Cloud Function of an operation. */
export function endpoint(operation: Get): HttpsFunction;
export function endpoint<Body>(operation: Post<Body>): HttpsFunction;
export function endpoint<Body>(operation: Get | Post<Body>): HttpsFunction {
  const options = { ...operation.settings, secrets: [apiKeySecret], invoker: 'public' as const };
  return onRequest(options, (request, response) => handle(operation, request, response));
}

async function handle<Body>(
  operation: Get | Post<Body>,
  request: IncomingRequest,
  response: ServerResponse,
): Promise<void> {
  const started_at = performance.now();
  const { settings, reserveMs = RESERVE_MS } = operation;
  const { signal, cancel } = deadline(settings.timeoutSeconds * 1000 - reserveMs);
  const context: Context = { usage: usageUntil(signal), requestId: requestId(request) };
  response.setHeader('X-Request-Id', context.requestId);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');

  let done: Done | undefined;
  let error: ServiceError | undefined;
  try {
    done = await answer(operation, request, response, context);
  } catch (cause) {
    error = asServiceError(cause);
    await refuse(request, response, error);
  } finally {
    cancel();
  }
  logRequest({
    operation: operation.name,
    request_id: context.requestId,
    method: request.method ?? '',
    // An error may have come too late to be answered, or to a caller who has gone away: the log has it as it is.
    status: error === undefined ? response.statusCode : errorTable[error.code].status,
    duration_ms: Math.round(performance.now() - started_at),
    firestore_calls: context.usage.calls,
    count: done && (done.count ?? context.usage.documents),
    replayed: done?.replayed,
    error,
  });
}

/** Walks the pipeline up to the answer. @returns undefined for a preflight, which is no operation */
async function answer<Body>(
  operation: Get | Post<Body>,
  request: IncomingRequest,
  response: ServerResponse,
  context: Context,
): Promise<Done | undefined> {
  if (operation.browsers === true) {
    const origin = applyCors(request, response, allowedOrigins());
    if (request.method === 'OPTIONS') {
      if (origin === 'refused')
        throw new ServiceError('origin_refused', { internal: 'preflight of an origin not allowed' });
      response.writeHead(204).end();
      return undefined;
    }
  }
  if (request.method !== operation.method) {
    throw new ServiceError('method_refused', {
      internal: `method ${request.method ?? ''} refused`,
      headers: { Allow: operation.method },
    });
  }
  judgeKey(request);
  const done = await work(operation, request, context);
  await send(request, response, { status: 200, ...done });
  return done;
}

function judgeKey({ headers }: IncomingMessage): void {
  const keys = apiKeys();
  if (keys.length === 0) throw new ServiceError('api_key_not_configured', { internal: 'the API key setting is blank' });
  const presented = headers['x-api-key'];
  if (!isValidKey(Array.isArray(presented) ? presented.join(', ') : presented, keys)) {
    throw new ServiceError('api_key_refused', {
      internal: presented === undefined ? 'no API key presented' : 'an API key presented that is not configured',
    });
  }
}

async function work<Body>(operation: Get | Post<Body>, request: IncomingRequest, context: Context): Promise<Done> {
  switch (operation.method) {
    case 'GET':
      return operation.work(context);
    case 'POST': {
      const { signal, cancel } = deadline(operation.bodyMs);
      const body = await readBody(request, operation.reader(), signal).finally(cancel);
      return operation.work(context, body);
    }
  }
}

/** Answers with an error, or, when part of an answer is out already, breaks the connection: never half of one as whole. */
async function refuse(request: IncomingMessage, response: ServerResponse, error: ServiceError): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status } = errorTable[error.code];
  await send(request, response, { status, headers: error.headers, body: JSON.stringify(errorBody(error)) });
}

/** A request id that a caller may choose: printable, short, and harmless in a log. */
const REQUEST_ID = /^[\w.-]{1,128}$/;

function requestId({ headers }: IncomingMessage): string {
  const presented = headers['x-request-id'];
  return typeof presented === 'string' && REQUEST_ID.test(presented) ? presented : randomUUID();
}
