/* eslint-disable no-restricted-syntax -- This module decides which messages may be logged, and which are sent. */
import { FAILURE_RESERVE_MS } from './time-limits';

/**
 * Every error response: its status and its public message. Types, logs and docs/openapi.json follow
 * from this table. Tests, documents and samples quote the messages, because they are part of the
 * interface. The message of an {@link ApiError} says what led to it, and is logged but never sent.
 */
export const ERROR_DEFINITIONS = {
  validation_failed: { status: 400, message: 'Payload is invalid' },
  invalid_api_key: { status: 401, message: 'Unauthorized' },
  origin_not_allowed: { status: 403, message: 'Origin not allowed' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  request_timeout: { status: 408, message: 'Request timeout' },
  idempotency_key_reused: { status: 409, message: 'Idempotency key already used with a different payload' },
  request_in_progress: { status: 409, message: 'Request is already being processed or requires review' },
  review_required: { status: 409, message: 'Request is already being processed or requires review' },
  payload_too_large: { status: 413, message: 'Payload too large' },
  api_key_not_configured: { status: 500, message: 'API key is not configured' },
  creation_failed: { status: 500, message: 'Price lists could not be created; the request requires review' },
  internal_error: { status: 500, message: 'Internal error' },
  writes_paused: { status: 503, message: 'Price lists are paused' },
  too_many_price_lists: { status: 503, message: 'Too many price lists at once' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERROR_DEFINITIONS;

interface ApiErrorOptions {
  headers?: Record<string, string>;
  /** Milliseconds after which the client should repeat the request, for `Retry-After`. */
  retryAfterMs?: number | undefined;
  /** For the log: whether the key needs an operator, because the sweep will not resume its attempt. */
  needsOperator?: boolean;
  cause?: unknown;
}

/**
 * The base class of errors whose messages may be logged, because this service wrote them without free text from requests
 * and records. {@link getErrorMessage} says what the log contains about other errors.
 */
export class LoggableError extends Error {}

/** The client left before its request or its response was complete, or it has got another response, such as the 500 of a stop. */
export class ClientGoneError extends LoggableError {}

export class ApiError extends LoggableError {
  override readonly name = 'ApiError';
  readonly headers: Readonly<Record<string, string>>;
  readonly needsOperator: boolean;

  /** @param message what happened, for the log */
  constructor(
    readonly code: ErrorCode,
    message: string,
    { headers = {}, retryAfterMs, needsOperator = false, cause }: ApiErrorOptions = {},
  ) {
    super(message, { cause });
    const retryAfter = retryAfterMs === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) };
    this.headers = { ...headers, ...retryAfter };
    this.needsOperator = needsOperator;
  }
}

export interface FieldError {
  /** Dotted, such as `products.cement.price_list_price`; `body` for the body itself. */
  path: string;
  message: string;
}

export class ValidationError extends ApiError {
  /** @param isComplete false if validation stopped early, so that there may be more errors */
  constructor(
    readonly errors: FieldError[],
    readonly isComplete = true,
  ) {
    super('validation_failed', `field errors in the payload: ${errors.length}`);
  }
}

/**
 * What is too large: the body as sent or inflated, the number of its products, or the payload that would be stored, as
 * text or compressed.
 */
type PayloadLimitScope = 'body' | 'products' | 'canonical' | 'compressed';

/** 413. Its headers name the limit, because the simple error shape has no field for it. */
export class PayloadTooLargeError extends ApiError {
  /** @param limit bytes, or for `products` their number */
  constructor(scope: PayloadLimitScope, limit: number) {
    const bytes = scope === 'products' ? {} : { 'X-Payload-Limit-Bytes': String(limit) };
    super('payload_too_large', `more than ${limit} (${scope})`, {
      headers: { 'X-Payload-Limit-Scope': scope, ...bytes },
    });
  }
}

/** The reason that aborts work when the instance or the command has to stop. The work can be repeated. */
export class StoppedError extends LoggableError {
  /** @param reserveMs time reserved for failing the running attempts. A stop can reserve less than a timeout does */
  constructor(
    message: string,
    readonly reserveMs = FAILURE_RESERVE_MS,
  ) {
    super(message);
  }
}

/**
 * Returns a text about any thrown value, for the log and for key records. A {@link LoggableError} gives its message, and an
 * error of gRPC the beginning of its message ({@link redact}), because that says what Firestore or the network did. Any
 * other error gives only its class and code, because its message can quote a value of a request or record.
 */
export function getErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error';
  if (error instanceof LoggableError) return error.message;
  const code = 'code' in error ? String(error.code) : '';
  if (isGrpcMessage(code, error.message)) return redact(error.message);
  return `unexpected ${getErrorName(error)}${IDENTIFIER.test(code) ? ` (${code})` : ''}`;
}

/** Returns the name of the class of an error for the log. */
export const getErrorName = ({ name }: Error): string => (IDENTIFIER.test(name) ? name : 'Error');

const IDENTIFIER = /^\w{1,60}$/;

/** A message of gRPC begins with its code and the name of that code. */
const isGrpcMessage = (code: string, message: string): boolean =>
  /^\d{1,2}$/.test(code) && /^\d+ [A-Z_]+: /.test(message) && message.startsWith(`${code} `);

/** A longer message is cut, because Cloud Logging rejects an entry of more than 256 KiB. */
const MAX_REDACTED_LENGTH = 1_000;

/**
 * Cuts a message of gRPC at the first path of a document, which can name a product, or at the first character that is
 * not plain, such as a quotation mark, which a value can follow.
 */
const redact = (message: string): string =>
  message.slice(0, MAX_REDACTED_LENGTH).replace(/(?:(\/documents\/)|[^\w\s.,:;()/=?&%+-]).*/s, '$1…');

/** The response to an unexpected error reveals nothing about it. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', getErrorMessage(error), { cause: error });
}

export function toErrorResponse(error: ApiError): object {
  const { message } = ERROR_DEFINITIONS[error.code];
  if (!(error instanceof ValidationError)) return { error: message };
  const more = error.isComplete ? '' : `; validation stopped after ${error.errors.length} errors, there may be more`;
  return { success: false, message: message + more, errors: error.errors };
}
