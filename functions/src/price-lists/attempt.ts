import { getErrorMessage, StoppedError } from '../lib/errors';
import { isTransient } from '../lib/firestore/retry';
import { measurePhase } from '../lib/request-context';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { writeEntries, type Entries } from './entries';
import { getSweepDelayMs, type KeyOutcome } from './key-state-machine';
import type { KeyStore } from './key-store';
import { Lease, type WrittenEntries } from './lease';
import { createSuccessResponse } from './responses';

/** The attempt has not stored its whole payload, so it cannot be resumed. */
export class PayloadNotStoredError extends Error {
  constructor(cause: unknown) {
    super(`the payload was not stored completely: ${getErrorMessage(cause)}`, { cause });
  }
}

/** What is particular to an attempt that a submission, an operator or the sweep began. */
interface AttemptWork {
  info: PriceListInfo;
  /** Stores what has to be stored before the entries, and finds the entries that are to be written. */
  prepare: (lease: Lease) => Promise<Entries>;
  onProgress?: ((progress: WrittenEntries) => void) | undefined;
}

/** How an attempt ended. */
export interface AttemptEnd {
  /** What has become of the key. */
  outcome: KeyOutcome;
  /** The error for which the attempt was not completed. */
  cause?: unknown;
}

/**
 * Carries out an attempt that owns its key, in steps from which it can be resumed:
 *
 *     prepared     what the claim did not store of the payload
 *     written      every entry of both lists, in batches
 *     completed    both lists ready, the key completed, the response stored: one commit
 *
 * or, from any of them, failed: both lists failed, the key requires review: one commit. An error of
 * a call does not say whether it took effect, so every step may be repeated.
 */
export async function runAttempt(attempt: KeyRecord, work: AttemptWork, keys: KeyStore): Promise<AttemptEnd> {
  const { counters } = keys.context;
  const lease = new Lease(attempt, keys);
  try {
    await measurePhase(counters, 'entries', async () => {
      const entries = await work.prepare(lease);
      await Promise.all([writeEntries(entries, lease, work.onProgress), lease.readAhead()]);
    });
    return { outcome: await measurePhase(counters, 'completion', () => complete(attempt, work.info, lease)) };
  } catch (cause) {
    return { outcome: await fail(attempt, cause, keys), cause };
  }
}

const complete = (attempt: KeyRecord, info: PriceListInfo, lease: Lease): Promise<KeyOutcome> =>
  lease.apply((completedAt) => {
    const response = createSuccessResponse(attempt, info, completedAt);
    return { kind: 'completed', attempt, response, completedAt };
  });

/**
 * Fails an attempt that cannot go on, in the time reserved for it. Its completion may have taken
 * effect, although the response to it was lost: the outcome then is that.
 */
async function fail(attempt: KeyRecord, error: unknown, keys: KeyStore): Promise<KeyOutcome> {
  const { clock, signal } = keys.context;
  const reason = getErrorMessage(error);
  try {
    return await keys.applyWithinReserve({ kind: 'failed', attempt, reason, cause: classifyFailure(error, signal) });
  } catch (failure) {
    // The lease expires, and the next event of the key fails the attempt.
    const expired = { ...attempt, failure_cause: 'lease_expired' } as const;
    const text = `${reason}; the failure could not be stored: ${getErrorMessage(failure)}`;
    return { kind: 'failed', reason: text, retryAfterMs: getSweepDelayMs(expired, clock.now()) };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (error instanceof PayloadNotStoredError) return 'error';
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}
