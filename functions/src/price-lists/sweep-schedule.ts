import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, SWEEP_INTERVAL_MS, SWEEP_START_MS } from '../lib/time-limits';

/** When the sweep looks at a key record, and what that means for a client: pure functions of the record. */

/** Whether an attempt that failed for this cause may succeed when it is resumed without a person. */
export const isTransientCause = (cause: FailureCause | null): boolean => cause !== null && cause !== 'error';

/** Why a key that requires review is left to an operator; null if the sweep may resume it. */
export function getSweepObstacle(record: KeyRecord): string | null {
  if (!isTransientCause(record.failure_cause)) return `the failure is not transient: ${record.failure ?? 'unknown'}`;
  if (record.automatic_resumes < MAX_AUTOMATIC_RESUMES) return null;
  return `it was resumed ${record.automatic_resumes} times without an operator, and failed again`;
}

/** From a failure to the resume by the sweep, by how many there were before. */
const SWEEP_DELAYS_MS = [0, 60_000, 300_000];

/** How often the sweep resumes one attempt before it leaves it to an operator. */
export const MAX_AUTOMATIC_RESUMES = SWEEP_DELAYS_MS.length;

/**
 * When the sweep goes on with an attempt, in Unix milliseconds; null: never. An attempt in progress
 * is due when its lease expires, even if the sweep may not resume it any more: it then fails it.
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
 * What an event stores as `sweep_due_at`: when the sweep has to look at the record, for a resume or,
 * once, to report that the key needs an operator. The sweep deletes the field after that report.
 */
export function getSweepDueAt(record: KeyRecord): number | null {
  return record.status === 'requires_review'
    ? (getSweepResumeAt(record) ?? record.updated_at)
    : getSweepResumeAt(record);
}

/** A person may resolve an attempt meanwhile, so no client is sent away for longer. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Time until the sweep that takes an attempt that failed has begun; null if an operator is needed. */
export function getRetryAfterMs(record: KeyRecord, now: number): number | null {
  const resumeAt = getSweepResumeAt(record);
  return resumeAt === null ? null : getMsUntilSweep(resumeAt, now);
}

/**
 * Time until the sweep has begun that takes an attempt whose record is not known, because its
 * failure may not be stored: its lease was renewed at the latest now.
 */
export const getUnknownRetryAfterMs = (now: number): number => getMsUntilSweep(now + LEASE_DURATION_MS, now);

function getMsUntilSweep(dueAt: number, now: number): number {
  const sweepAt = (Math.floor(Math.max(dueAt, now) / SWEEP_INTERVAL_MS) + 1) * SWEEP_INTERVAL_MS;
  return Math.min(sweepAt + SWEEP_START_MS - now, MAX_RETRY_AFTER_MS);
}
