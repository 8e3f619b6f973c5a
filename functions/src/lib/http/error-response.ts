import { ERROR_DEFINITIONS, ValidationError, type ApiError } from '../errors';

/** Returns the response body of an error: field errors for an invalid payload, otherwise one message. */
export function toErrorResponse(error: ApiError): object {
  const { message } = ERROR_DEFINITIONS[error.code];
  if (!(error instanceof ValidationError)) return { error: message };
  const more = error.isComplete ? '' : `; validation stopped after ${error.errors.length} errors, there may be more`;
  return { success: false, message: message + more, errors: error.errors };
}
