import type { FieldError, SimpleError, ValidationError } from '../schemas/responses';

/**
 * Every refusal and failure that a caller can see: its status and its public text.
 *
 * The one table from which codes, statuses and answers follow (contract, section 7). What led to an error, in words
 * for an operator, is the internal text of a {@link ServiceError}; it goes to the log and never into an answer.
 */
export const errorTable = {
  payload_invalid: { status: 400, text: 'Payload is invalid' },
  api_key_refused: { status: 401, text: 'Unauthorized' },
  origin_refused: { status: 403, text: 'Origin not allowed' },
  method_refused: { status: 405, text: 'Method not allowed' },
  body_timed_out: { status: 408, text: 'Request timeout' },
  payload_differs: { status: 409, text: 'Idempotency key already used with a different payload' },
  attempt_unsettled: { status: 409, text: 'Request is already being processed or requires review' },
  payload_too_large: { status: 413, text: 'Payload too large' },
  api_key_not_configured: { status: 500, text: 'API key is not configured' },
  creation_failed: { status: 500, text: 'Price lists could not be created; the request requires review' },
  unforeseen: { status: 500, text: 'Internal error' },
} as const satisfies Record<string, { status: number; text: string }>;

export type ErrorCode = keyof typeof errorTable;

interface Details {
  /** What happened, for the log. */
  internal: string;
  cause?: unknown;
  headers?: Record<string, string>;
}

/** A refusal or failure with a row in {@link errorTable}. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, { internal, cause, headers = {} }: Details) {
    super(internal, { cause });
    this.name = 'ServiceError';
    this.code = code;
    this.headers = headers;
  }
}

/** A payload that breaks a rule of the contract: 400 in the validation shape. */
export class InvalidPayload extends ServiceError {
  readonly errors: FieldError[];
  readonly complete: boolean;

  /** `complete` is false when judging stopped before the end, so that there may be more errors than these. */
  constructor(errors: FieldError[], complete = true) {
    super('payload_invalid', { internal: `payload refused with ${errors.length} field errors` });
    this.errors = errors;
    this.complete = complete;
  }
}

/** The error as the caller sees it: an unforeseen one says nothing of its cause. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('unforeseen', {
    internal: error instanceof Error ? error.message : 'a value that is not an error was thrown',
    cause: error,
  });
}

/** The body of an answer that refuses or fails: the validation shape for a payload, else the simple one. */
export function errorBody(error: ServiceError): SimpleError | ValidationError {
  if (!(error instanceof InvalidPayload)) return { error: errorTable[error.code].text };
  const more = error.complete ? '' : `; judging stopped after ${error.errors.length} errors, there may be more`;
  return { success: false, message: errorTable[error.code].text + more, errors: error.errors };
}
