import { ERROR_DEFINITIONS, toApiError, type ErrorCode } from '../../functions/src/lib/errors';
import { toErrorResponse } from '../../functions/src/lib/http/error-response';
import { parseText } from '../../functions/src/lib/json/body-parser';
import type { Operation } from './operations';

/** The response body of an error; of a validation error, for an operation's invalid example. */
export function createErrorExample(code: ErrorCode, operation: Pick<Operation, 'name' | 'info' | 'request'>): object {
  return code === 'validation_failed' ? createValidationExample(operation) : { error: ERROR_DEFINITIONS[code].message };
}

function createValidationExample({ name, info, request }: Pick<Operation, 'name' | 'info' | 'request'>): object {
  if (info.body === undefined) throw new Error(`${name} takes no body`);
  try {
    parseText(info.body.createParser(), JSON.stringify(request?.invalidExample));
  } catch (error) {
    return toErrorResponse(toApiError(error));
  }
  throw new Error(`scripts/openapi/operations.ts: the invalid example of ${name} is valid`);
}
