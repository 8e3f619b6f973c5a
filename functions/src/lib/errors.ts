import type { FieldError, ErrorResponse, ValidationErrorResponse } from './schemas/responses';

/**
 * Every refusal and failure that a caller can see: its status and its public text.
 *
 * The one table from which codes, statuses and answers follow (contract, section 7). What led to an error, in words
 * for an operator, is the internal text of a {@link ApiError}; it goes to the log and never into an answer.
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
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERROR_DEFINITIONS;

interface ApiErrorOptions {
  /** What happened, for the log. */
  logMessage: string;
  cause?: unknown;
  headers?: Record<string, string>;
}

/** A refusal or failure with a row in {@link ERROR_DEFINITIONS}. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, { logMessage, cause, headers = {} }: ApiErrorOptions) {
    super(logMessage, { cause });
    this.name = 'ServiceError';
    this.code = code;
    this.headers = headers;
  }
}

/** A payload that breaks a rule of the contract: 400 in the validation shape. */
export class ValidationError extends ApiError {
  readonly errors: FieldError[];
  readonly isComplete: boolean;

  /** `complete` is false when judging stopped before the end, so that there may be more errors than these. */
  constructor(errors: FieldError[], isComplete = true) {
    super('validation_failed', { logMessage: `payload refused with ${errors.length} field errors` });
    this.errors = errors;
    this.isComplete = isComplete;
  }
}

/** The error as the caller sees it: an unforeseen one says nothing of its cause. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', {
    logMessage: error instanceof Error ? error.message : 'a value that is not an error was thrown',
    cause: error,
  });
}

/** The body of an answer that refuses or fails: the validation shape for a payload, else the simple one. */
export function toErrorResponse(error: ApiError): ErrorResponse | ValidationErrorResponse {
  if (!(error instanceof ValidationError)) return { error: ERROR_DEFINITIONS[error.code].message };
  const more = error.isComplete ? '' : `; judging stopped after ${error.errors.length} errors, there may be more`;
  return { success: false, message: ERROR_DEFINITIONS[error.code].message + more, errors: error.errors };
}
