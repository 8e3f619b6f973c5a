import type { ReadableKey } from '../records/find';
import { collections } from '../../functions/src/lib/firestore/collections';
import { keyDocumentId, type KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../functions/src/lib/time-limits';
import { canResumeAutomatically, getSweepDueAt } from '../../functions/src/price-lists/schedule';
import { createReporter, type Violation } from './violation';

/** Checks a key record alone, without the other records of its attempt. */

export const createKeyReporter = ({ boq_list_id }: Pick<KeyRecord, 'boq_list_id'>) =>
  createReporter(boq_list_id, `${collections.priceListIdempotency}/${keyDocumentId(boq_list_id)}`);

/** How long an expired lease is no violation. Usually, several passes of the sweep begin in this time. */
const EXPIRED_LEASE_GRACE_MS = 5 * 60_000;

/** How long a key that requires review can be due without a violation. */
const OVERDUE_MS = 60 * 60_000;

export function checkKey({ record, sweepDueAt, readAt }: ReadableKey): Violation[] {
  const { status, owner, actions } = record;
  const report = createKeyReporter(record);
  const violations: Violation[] = [];
  if (status === 'processing' && owner === '') violations.push(report('key_record', 'is processing without an owner'));
  if (status === 'released' && actions.at(-1)?.action !== 'release')
    violations.push(report('key_record', 'is released, but its last action is not a release'));
  const due = describeWrongDueTime(record, sweepDueAt) ?? describeDelay(record, sweepDueAt, readAt);
  if (due !== undefined) violations.push(report('sweep_due_at', due));
  const lease = status === 'processing' ? describeWrongLease(record, readAt) : undefined;
  if (lease !== undefined) violations.push(report('lease', lease));
  return violations;
}

/**
 * Checks that the stored due time is the one that follows from the record. If the key needs an operator, the due time can
 * be missing, because the sweep removes it after it has reported the key.
 */
function describeWrongDueTime(record: KeyRecord, sweepDueAt: number | null): string | undefined {
  const needsOperator = record.status === 'requires_review' && !canResumeAutomatically(record);
  const dueAt = getSweepDueAt(record);
  if (sweepDueAt === dueAt || (needsOperator && sweepDueAt === null)) return undefined;
  const stored = sweepDueAt === null ? 'no time' : toTimeText(sweepDueAt);
  return `has ${stored} in sweep_due_at, but must have ${dueAt === null ? 'none' : toTimeText(dueAt)}`;
}

/** Checks that a key that requires review has not been due for an hour, and that the time of its failure is not in the future. */
function describeDelay(record: KeyRecord, sweepDueAt: number | null, readAt: number): string | undefined {
  const { status, updated_at } = record;
  if (status !== 'requires_review') return undefined;
  if (updated_at > readAt)
    return `was changed at ${toTimeText(updated_at)}, which is in the future, so no sweep resumes or reports the key before then: resume or release it`;
  return sweepDueAt !== null && readAt >= sweepDueAt + OVERDUE_MS
    ? `has been due for ${countMinutes(readAt - sweepDueAt)} min, and no sweep has resumed or reported it`
    : undefined;
}

/** Checks the lease of an attempt in progress. All times come from Firestore's clock. */
function describeWrongLease({ lease_expires_at }: KeyRecord, readAt: number): string | undefined {
  if (lease_expires_at > readAt + LEASE_DURATION_MS)
    return `has a lease until ${toTimeText(lease_expires_at)}, longer than any instance grants`;
  return readAt >= lease_expires_at + EXPIRED_LEASE_GRACE_MS
    ? `is processing, but its lease expired ${countMinutes(readAt - lease_expires_at)} min ago, and no sweep has resumed it`
    : undefined;
}

const countMinutes = (ms: number): number => Math.floor(ms / 60_000);

/** Formats a stored time, which can be outside the range of Date. */
const toTimeText = (ms: number): string =>
  Number.isNaN(new Date(ms).getTime()) ? String(ms) : new Date(ms).toISOString();
