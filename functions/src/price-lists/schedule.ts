import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_INTERVAL_MS, SWEEP_START_MS } from '../lib/time-limits';

/** Delays from a failure until the sweep may resume the attempt. The n-th applies after n failed tries, none after an expired lease. */
const RESUME_DELAYS_MS = [0, 60_000, 300_000];

/** Whether a cause is transient, so that the sweep can resume the attempt. After any other cause, the key needs an operator. */
const IS_TRANSIENT: Record<FailureCause, boolean> = {
  lease_expired: true,
  stopped: true,
  timeout: true,
  unavailable: true,
  error: false,
};

/** @param record of a key that requires review. @returns milliseconds; undefined if the sweep does not resume the attempt */
function getResumeDelayMs({ failure_cause, failed_tries }: KeyRecord): number | undefined {
  if (failure_cause === null || !IS_TRANSIENT[failure_cause]) return undefined;
  // After a stop, `failed_tries` can be 0. The first delay then applies.
  return RESUME_DELAYS_MS[Math.max(failed_tries - 1, 0)];
}

/** Returns whether the sweep resumes the attempt of a key that requires review. Otherwise the key needs an operator. */
export const canResumeAutomatically = (record: KeyRecord): boolean => getResumeDelayMs(record) !== undefined;

export const describeSweepObstacle = ({ failure, failed_tries, failure_cause }: KeyRecord): string =>
  failure_cause === 'error'
    ? `the failure is not transient: ${failure}`
    : `${failed_tries} tries failed since the claim or the last resume by an operator`;

/**
 * Returns the time from which the sweep resumes an attempt, in Unix milliseconds; null for never. For an attempt in progress,
 * that is the end of its lease. If the try that ends with the lease is the fourth to fail, the sweep leaves the key to an
 * operator instead.
 */
export function getSweepResumeAt(record: KeyRecord): number | null {
  switch (record.status) {
    case 'processing':
      return record.lease_expires_at;
    case 'requires_review': {
      const delayMs = getResumeDelayMs(record);
      return delayMs === undefined ? null : record.updated_at + delayMs;
    }
    case 'completed':
    case 'released':
      return null;
  }
}

/**
 * Returns the value that an event stores as `sweep_due_at`; null for none. From that time on the sweep resumes
 * the attempt, or reports that the key needs an operator. The sweep deletes the field after that report.
 */
export const getSweepDueAt = (record: KeyRecord): number | null =>
  getSweepResumeAt(record) ?? (record.status === 'requires_review' ? record.updated_at : null);

/** Returns whether the sweep processes a key that its query found. The other fields of the record decide, not `sweep_due_at`. */
export const isSwept = (record: KeyRecord, readAt: number): boolean => (getSweepDueAt(record) ?? Infinity) <= readAt;

/** How long a client waits for the sweep. By then, the next sweep has probably begun to resume the attempt of a key that is due. */
export const SWEEP_WAIT_MS = SWEEP_INTERVAL_MS + SWEEP_START_MS;

/** What must happen before the same request can succeed. */
export type Recovery =
  /**
   * The sweep resumes the attempt, unless its owner completes it first. If a try that ends with its lease is the fourth to fail, the
   * sweep leaves the key to an operator instead.
   */
  | { kind: 'sweep'; retryAfterMs: number }
  /** An operator has to act on the key. */
  | { kind: 'operator' };

export const SWEEP_RECOVERY: Recovery = { kind: 'sweep', retryAfterMs: SWEEP_WAIT_MS };

/** @param record of a key that requires review */
export const getRecovery = (record: KeyRecord): Recovery =>
  canResumeAutomatically(record) ? SWEEP_RECOVERY : { kind: 'operator' };

/** A client waits longer for more products, because each of its requests uploads them again. */
export const getAttemptWaitMs = ({ products_count }: Pick<KeyRecord, 'products_count'>): number =>
  Math.min(10_000 + 1_000 * Math.floor(products_count / 2_000), SWEEP_WAIT_MS);
