import { getErrorMessage, StoppedError } from '../lib/errors';
import { isTransient } from '../lib/firestore/retry';
import { setListDocuments } from '../lib/repositories/price-lists';
import { measurePhase } from '../lib/work-context';
import type { FailureCause } from '../lib/schemas/key-record';
import { writeEntries, type PendingEntries } from './entries';
import type { KeyOutcome } from './key-state-machine';
import { LeaseLostError, type RunningAttempt } from './running-attempt';
import { createListDocuments } from './stored-documents';
import type { PriceListSubmission } from './submission-parser';
import { isTransientCause, SWEEP_WAIT_MS } from './sweep-schedule';

/** Storing the payload failed, so the sweep does not resume the attempt. */
export class PayloadNotStoredError extends Error {
  constructor(cause: unknown) {
    super(`the payload was not stored completely: ${getErrorMessage(cause)}`, { cause });
  }
}

export type AttemptOutcome =
  | KeyOutcome
  /** An error ended the attempt, and the state of its key is unknown. `retryAfterMs`: as for `failed`. */
  | { kind: 'unknown'; reason: string; retryAfterMs: number | null };

/**
 * Carries out an attempt that owns its key. Once its payload is stored, a stopped attempt can be resumed.
 *
 *     prepare      a creation stores the rest of the payload; a resume reads the payload if needed, and finds what to write
 *     write        stores the entries of both lists, in batches
 *     complete     makes both lists ready, completes the key and stores the response, in one commit
 *
 * After an error in any step, one commit marks both lists as failed and the key as requiring review, if the
 * attempt is still in progress. A call that fails can have taken effect, so every step is safe to repeat.
 *
 * @returns the outcome; `cause`: the error that ended the attempt
 */
export async function runAttempt(
  attempt: RunningAttempt,
  prepare: (attempt: RunningAttempt) => Promise<{ submission: PriceListSubmission; pending: PendingEntries }>,
): Promise<{ outcome: AttemptOutcome; cause?: unknown }> {
  const { counters } = attempt.keys.context;
  try {
    const submission = await measurePhase(counters, 'entries', async () => {
      const work = await prepare(attempt);
      await writeEntries(work.submission.products, work.pending, attempt);
      return work.submission;
    });
    return { outcome: await measurePhase(counters, 'completion', () => complete(attempt, submission)) };
  } catch (cause) {
    return { outcome: await fail(attempt, cause), cause };
  }
}

function complete(attempt: RunningAttempt, { info }: PriceListSubmission): Promise<KeyOutcome> {
  const { keys, record } = attempt;
  const event = { kind: 'complete', attempt: record, info } as const;
  return attempt.call(() =>
    keys.apply(event, (writes, completed) => {
      const { lists, updated_at } = completed;
      if (lists === null) return;
      setListDocuments(keys.db, writes, lists, createListDocuments(completed, lists, info, 'ready', updated_at));
    }),
  );
}

/**
 * Fails an attempt that cannot continue, within the time reserved for this. If its completion took effect and
 * only the response was lost, the outcome is that completion.
 */
async function fail({ keys, record }: RunningAttempt, error: unknown): Promise<AttemptOutcome> {
  const reason = getErrorMessage(error);
  const cause = classifyFailure(error, keys.context.signal);
  try {
    return await keys.applyWithinReserve({ kind: 'fail', attempt: record, reason, cause });
  } catch (failure) {
    // If neither a completion nor this failure took effect, the first event after the lease expires stores a failure.
    const text = `${reason}; the failure could not be stored: ${getErrorMessage(failure)}`;
    const retryAfterMs = isTransientCause(cause) ? SWEEP_WAIT_MS : null;
    return { kind: 'unknown', reason: text, retryAfterMs };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (error instanceof PayloadNotStoredError) return 'error';
  if (error instanceof LeaseLostError) return 'lease_expired';
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}
