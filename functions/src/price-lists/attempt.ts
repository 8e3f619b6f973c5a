import { getErrorMessage, StoppedError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isTransient } from '../lib/firestore/retry';
import type { RequestContext } from '../lib/request-context';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { applyFinalEvent, tryApplyEvent } from './apply-event';
import { getSweepDelayMs, type KeyOutcome } from './key-state-machine';
import type { Lease } from './lease';
import { createSuccessResponse } from './responses';

/** The two ends of an attempt. */

/** The attempt has not stored its whole payload, so it cannot be resumed. */
export class PayloadNotStoredError extends Error {
  constructor(cause: unknown) {
    super(`the payload was not stored completely: ${getErrorMessage(cause)}`, { cause });
  }
}

/** Completes an attempt whose entries are all written. @returns what has become of the key */
export function completeAttempt(
  attempt: KeyRecord,
  info: PriceListInfo,
  lease: Lease,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  return lease.run(() => {
    const completedAt = context.clock.now();
    const response = createSuccessResponse(attempt, info, completedAt);
    return tryApplyEvent(attempt.boq_list_id, { kind: 'completed', attempt, response, completedAt }, db, context);
  });
}

/**
 * Fails an attempt that cannot go on, in the time reserved for it. Its completion may have taken effect, although the response
 * to it was lost: the outcome then is that.
 */
export async function failAttempt(
  attempt: KeyRecord,
  error: unknown,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  const reason = getErrorMessage(error);
  const event = { kind: 'failed', attempt, reason, cause: classifyFailure(error, context.signal) } as const;
  try {
    return await applyFinalEvent(attempt.boq_list_id, event, db, context);
  } catch (failure) {
    // The lease expires, and the next event of the key fails the attempt.
    const expired = { ...attempt, failure_cause: 'lease_expired' } as const;
    const text = `${reason}; the failure could not be stored: ${getErrorMessage(failure)}`;
    return { kind: 'failed', reason: text, retryAfterMs: getSweepDelayMs(expired, context.clock.now()) };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (error instanceof PayloadNotStoredError) return 'error';
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}
