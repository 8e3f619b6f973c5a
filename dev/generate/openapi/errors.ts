import type { ErrorCode } from '../../../functions/src/lib/errors';
import { MAX_FIELD_ERRORS } from '../../../functions/src/lib/schemas/add-price-lists';
import type { HeaderName } from './headers';
import type { Operation } from './operations';

/** What each error means to a client, and what to do about it. */
export const errorDescriptions: Record<ErrorCode, string> = {
  validation_failed: `The body, or a header that describes the body, breaks a rule. \`errors\` lists what is wrong, for add price lists at most ${MAX_FIELD_ERRORS} errors. Correct the request before you send it again.`,
  invalid_api_key: 'The API key is missing or invalid. Send a valid one in the header `x-api-key`.',
  origin_not_allowed: 'The preflight came from an origin that is not allowed. Ask support to allow it.',
  method_not_allowed:
    'The operation does not accept this method. Use the method that `Allow` names. `HEAD` gets 405 too.',
  request_timeout: 'The body did not arrive in time. Send it again.',
  idempotency_key_reused:
    '`Idempotency key already used with a different payload`: the `boq_list_id` belongs to a different payload. Do not retry: use a new `boq_list_id`.',
  request_in_progress:
    '`Request is already being processed or requires review`: if the service is still processing this payload, send it again after the time in `Retry-After`.',
  review_required:
    'If an earlier attempt failed, you get the same text. With `Retry-After` the service continues the attempt without an operator: send the request again after that time. Without the header an operator has to act: contact support. If support tells you that the `boq_list_id` is released, send the request again, which starts a new creation.',
  payload_too_large:
    'The body is too large as sent or inflated. A body of add price lists can also have too many products, or be too large to be stored. Send a body within the limit that `X-Payload-Limit-Scope` names.',
  api_key_not_configured: '`API key is not configured`: contact support.',
  creation_failed:
    '`Price lists could not be created; the request requires review`: the creation failed. With `Retry-After` the service continues it without an operator: send the request again after that time. Without the header an operator has to act: contact support.',
  internal_error: '`Internal error`: the service failed. Send the request again, which is safe for every operation.',
  too_many_price_lists:
    '`Too many price lists at once`: the instance that got the request is creating as many price lists as its memory can hold. Send the request again after the time in `Retry-After`.',
  writes_paused:
    '`Price lists are paused`: an operator has paused them. Send the request again after the time in `Retry-After`.',
};

/** The headers that each error can add to its response. */
export const errorHeaders: Partial<Record<ErrorCode, HeaderName[]>> = {
  invalid_api_key: ['WWW-Authenticate'],
  method_not_allowed: ['Allow'],
  payload_too_large: ['X-Payload-Limit-Bytes', 'X-Payload-Limit-Scope'],
  request_in_progress: ['Retry-After'],
  review_required: ['Retry-After'],
  creation_failed: ['Retry-After'],
  writes_paused: ['Retry-After'],
  too_many_price_lists: ['Retry-After'],
};

/** Names of the responses that several operations share, by the errors of the response. */
export const sharedResponses: Record<string, string> = {
  invalid_api_key: 'Unauthorized',
  method_not_allowed: 'MethodNotAllowed',
  request_timeout: 'RequestTimeout',
  payload_too_large: 'PayloadTooLarge',
  'api_key_not_configured,internal_error': 'ServerError',
};

const COMMON_ERRORS: ErrorCode[] = [
  'invalid_api_key',
  'method_not_allowed',
  'api_key_not_configured',
  'internal_error',
];
const BODY_ERRORS: ErrorCode[] = ['validation_failed', 'request_timeout', 'payload_too_large'];

export const PREFLIGHT_ERRORS: ErrorCode[] = ['origin_not_allowed', 'internal_error'];

/** Returns the errors of an operation's GET or POST. Those of its preflight are {@link PREFLIGHT_ERRORS}. */
export const getErrorCodes = ({ request, errors = [] }: Operation): ErrorCode[] => [
  ...COMMON_ERRORS,
  ...(request === undefined ? [] : BODY_ERRORS),
  ...errors,
];
