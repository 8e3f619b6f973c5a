import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, SWEEP_INTERVAL_MS, SWEEP_START_MS } from '../lib/time-limits';

/** Computes from a key record when the sweep processes it, and how long clients should wait. */

/** Whether an attempt that failed for this cause may succeed when the sweep resumes it. */
export const isTransientCause = (cause: FailureCause | null): boolean => cause !== null && cause !== 'error';

/** Returns the reason why a key that requires review needs an operator; null if the sweep may resume it. */
export function getSweepObstacle(record: KeyRecord): string | null {
  if (!isTransientCause(record.failure_cause)) return `the failure is not transient: ${record.failure ?? 'unknown'}`;
  if (record.automatic_resumes < MAX_AUTOMATIC_RESUMES) return null;
  return `it was resumed ${record.automatic_resumes} times without an operator, and failed again`;
}

/** Delay from a failure to the resume by the sweep, by the number of earlier resumes. */
const SWEEP_DELAYS_MS = [0, 60_000, 300_000];

/** Maximum resumes of one attempt by the sweep; after that, the key needs an operator. */
export const MAX_AUTOMATIC_RESUMES = SWEEP_DELAYS_MS.length;

/**
 * Returns when an attempt is due for the sweep, in Unix milliseconds; null for never. An attempt in
 * progress is due when its lease expires. The sweep then fails it if it may not resume it.
 */
export function getSweepResumeAt(record: KeyRecord): number | null {
  switch (record.status) {
    case 'processing':
      return record.lease_expires_at;
    case 'requires_review':
      if (getSweepObstacle(record) !== null) return null;
      return record.updated_at + (SWEEP_DELAYS_MS[record.automatic_resumes] ?? 0);
    case 'completed':
    case 'released':
      return null;
  }
}

/**
 * Returns the value that an event stores as `sweep_due_at`. At that time the sweep resumes the attempt,
 * or reports once that the key needs an operator. It deletes the field after that report.
 */
export function getSweepDueAt(record: KeyRecord): number | null {
  return record.status === 'requires_review'
    ? (getSweepResumeAt(record) ?? record.updated_at)
    : getSweepResumeAt(record);
}

/** Limits the wait of clients, because an operator may resolve the attempt earlier. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Returns the time until the sweep has begun to resume a failed attempt; null if an operator is needed. */
export function getRetryAfterMs(record: KeyRecord, now: number): number | null {
  const resumeAt = getSweepResumeAt(record);
  return resumeAt === null ? null : getMsUntilSweep(resumeAt, now);
}

/**
 * Returns the time until the sweep has begun to resume an attempt whose failure may not be stored.
 * Its lease was renewed no later than `now`.
 */
export const getUnknownRetryAfterMs = (now: number): number => getMsUntilSweep(now + LEASE_DURATION_MS, now);

function getMsUntilSweep(dueAt: number, now: number): number {
  const sweepAt = (Math.floor(Math.max(dueAt, now) / SWEEP_INTERVAL_MS) + 1) * SWEEP_INTERVAL_MS;
  return Math.min(sweepAt + SWEEP_START_MS - now, MAX_RETRY_AFTER_MS);
}
