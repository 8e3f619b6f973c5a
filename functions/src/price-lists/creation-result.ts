import { ApiError } from '../lib/errors';
import { getMarketFacts, type MarketFacts } from '../lib/schemas/key-record';
import type { AttemptOutcome } from './attempt';

export interface CreationResult {
  response: string;
  replayed: boolean;
  facts: MarketFacts;
}

/**
 * Converts the outcome of a request to its result.
 *
 * @param cause the error that ended the request's own attempt
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export function toCreationResult(outcome: AttemptOutcome, cause?: unknown): CreationResult {
  switch (outcome.kind) {
    case 'completed':
      return { response: outcome.response, replayed: !outcome.isOwn, facts: getMarketFacts(outcome.record) };
    case 'payload_mismatch':
      throw new ApiError('idempotency_key_reused', 'another payload holds the key', { cause });
    case 'blocked': {
      const { by, retryAfterMs } = outcome;
      if (by === 'attempt')
        throw new ApiError('request_in_progress', 'an attempt on the key is in progress', { cause, retryAfterMs });
      const needsOperator = retryAfterMs === null;
      throw new ApiError('review_required', 'the key requires review', { cause, retryAfterMs, needsOperator });
    }
    case 'released':
    case 'available':
      throw new ApiError('review_required', 'an operator released the attempt', { cause });
    case 'failed': {
      const { reason, retryAfterMs } = outcome;
      const needsOperator = retryAfterMs === null;
      throw new ApiError('creation_failed', reason, { cause, retryAfterMs, needsOperator });
    }
    case 'unknown':
      throw new ApiError('creation_failed', outcome.reason, { cause, retryAfterMs: outcome.retryAfterMs });
    case 'owned':
      throw new ApiError('creation_failed', 'the attempt failed', { cause });
  }
}
