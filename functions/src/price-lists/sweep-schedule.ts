import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_INTERVAL_MS, SWEEP_START_MS } from '../lib/time-limits';

/** Computes from a key record when the sweep processes it, and how long clients should wait. */

/** Returns whether the cause of a failure can end without an operator, so that a resume can succeed. */
export const isTransientCause = (cause: FailureCause | null): boolean => cause !== null && cause !== 'error';

/** Delay from a failure to the resume by the sweep, by the number of its earlier resumes. */
const SWEEP_DELAYS_MS = [0, 60_000, 300_000];

/** Maximum number of resumes of one attempt by the sweep. A resume by an operator sets the count back to 0. */
export const MAX_AUTOMATIC_RESUMES = SWEEP_DELAYS_MS.length;

/** Returns whether the sweep can resume an attempt that requires review. Otherwise the key needs an operator. */
export const canResumeAutomatically = ({ failure_cause, automatic_resumes }: KeyRecord): boolean =>
  isTransientCause(failure_cause) && automatic_resumes < MAX_AUTOMATIC_RESUMES;

export const describeSweepObstacle = ({ failure, failure_cause, automatic_resumes }: KeyRecord): string =>
  isTransientCause(failure_cause)
    ? `it was resumed ${automatic_resumes} times without an operator, and failed again`
    : `the failure is not transient: ${failure ?? 'unknown'}`;

/**
 * Returns when the sweep resumes an attempt, in Unix milliseconds; null for never. An attempt in progress
 * is due when its lease expires. If the sweep cannot resume it, the sweep then leaves the key to an operator.
 */
export function getSweepResumeAt(record: KeyRecord): number | null {
  switch (record.status) {
    case 'processing':
      return record.lease_expires_at;
    case 'requires_review':
      if (!canResumeAutomatically(record)) return null;
      return record.updated_at + (SWEEP_DELAYS_MS[record.automatic_resumes] ?? 0);
    case 'completed':
    case 'released':
      return null;
  }
}

/**
 * Returns the value that an event stores as `sweep_due_at`; null for none. From that time on the sweep resumes
 * the attempt, or reports that the key needs an operator. It deletes the field after that report.
 */
export const getSweepDueAt = (record: KeyRecord): number | null =>
  getSweepResumeAt(record) ?? (record.status === 'requires_review' ? record.updated_at : null);

/** How long a client should wait for the sweep. By then, the next sweep can have resumed an attempt that is due. */
export const SWEEP_WAIT_MS = SWEEP_INTERVAL_MS + SWEEP_START_MS;

/** Returns how long a client should wait after a failure; null if the key needs an operator. */
export const getReviewWaitMs = (record: KeyRecord): number | null =>
  canResumeAutomatically(record) ? SWEEP_WAIT_MS : null;

/** Returns how long a client should wait for an attempt: longer for more products, because each request uploads them again. */
export const getAttemptWaitMs = ({ products_count }: KeyRecord): number =>
  Math.min(10_000 + 1_000 * Math.floor(products_count / 2_000), SWEEP_WAIT_MS);
