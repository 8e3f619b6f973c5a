import { ApiError, StoppedError } from '../../../src/lib/errors';
import type { AttemptOutcome } from '../../../src/price-lists/attempt';
import { toCreationResult } from '../../../src/price-lists/creation-result';
import { toResolutionError } from '../../../src/price-lists/resume';
import { createKeyRecord, TEST_LISTS } from '../../support/key-records';

const cause = new StoppedError('why the attempt was not completed');

function getError(outcome: AttemptOutcome): ApiError {
  try {
    toCreationResult(outcome, cause);
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error('nothing was thrown');
}

test('a completed key gives its response, as a replay unless the request completed it', () => {
  const response = '{}';
  for (const isOwn of [true, false])
    expect(toCreationResult({ kind: 'completed', record: createKeyRecord(), response, isOwn })).toMatchObject({
      response,
      replayed: !isOwn,
    });
});

test.each([
  ['no market', null, { market_found: false, currency_differs: false }],
  ['another currency', TEST_LISTS, { market_found: true, currency_differs: true }],
  ['the same currency', { ...TEST_LISTS, currency_differs: false }, { market_found: true, currency_differs: false }],
])('the facts of a completed key with %s say so', (_, lists, facts) => {
  const record = createKeyRecord({ lists });
  expect(toCreationResult({ kind: 'completed', record, response: '{}', isOwn: false })).toMatchObject({ facts });
});

test.each<[AttemptOutcome, string, string, object, boolean]>([
  [{ kind: 'payload_mismatch' }, 'idempotency_key_reused', 'another payload holds the key', {}, false],
  [
    { kind: 'blocked', by: 'attempt', retryAfterMs: 1_001 },
    'request_in_progress',
    'an attempt on the key is in progress',
    { 'Retry-After': '2' },
    false,
  ],
  [
    { kind: 'blocked', by: 'review', retryAfterMs: 60_000 },
    'review_required',
    'the key requires review',
    { 'Retry-After': '60' },
    false,
  ],
  [{ kind: 'blocked', by: 'review', retryAfterMs: null }, 'review_required', 'the key requires review', {}, true],
  [{ kind: 'released' }, 'review_required', 'an operator released the attempt', {}, false],
  [
    { kind: 'unknown', reason: 'internal', retryAfterMs: 1_000 },
    'creation_failed',
    'internal',
    { 'Retry-After': '1' },
    false,
  ],
  [
    { kind: 'failed', reason: 'internal', retryAfterMs: 1_000 },
    'creation_failed',
    'internal',
    { 'Retry-After': '1' },
    false,
  ],
  [{ kind: 'failed', reason: 'internal', retryAfterMs: null }, 'creation_failed', 'internal', {}, true],
  [{ kind: 'owned', record: createKeyRecord() }, 'creation_failed', 'the attempt failed', {}, false],
])('%j gives a client the error %s', (outcome, code, message, headers, needsOperator) => {
  expect(getError(outcome)).toMatchObject({ code, message, needsOperator, cause });
  expect(getError(outcome).headers).toEqual(headers);
});

test.each<[AttemptOutcome, string, string]>([
  [{ kind: 'released' }, 'key_released', 'the key was released since it was read'],
  [
    { kind: 'blocked', by: 'review', retryAfterMs: null },
    'key_in_review_again',
    'the key requires review again since it was read',
  ],
  [{ kind: 'blocked', by: 'attempt', retryAfterMs: 1 }, 'key_in_progress', 'another attempt on the key is in progress'],
  [{ kind: 'payload_mismatch' }, 'key_resolved', 'the key was resolved since it was read'],
])('%j gives an operator the error %s', (outcome, code, message) => {
  expect(toResolutionError(outcome)).toMatchObject({ code, message });
});
