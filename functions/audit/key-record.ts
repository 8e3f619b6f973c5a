import { collections } from '../src/lib/firestore/collections';
import { keyDocumentId, type KeyRecord } from '../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../src/lib/time-limits';
import { canResumeAutomatically, getSweepDueAt } from '../src/price-lists/schedule';
import { createReporter, type Violation } from './violation';

/** The checks of a key record alone. */

export const createKeyReporter = ({ boq_list_id }: Pick<KeyRecord, 'boq_list_id'>) =>
  createReporter(boq_list_id, `${collections.priceListIdempotency}/${keyDocumentId(boq_list_id)}`);

export function checkKeyRecord(record: KeyRecord): Violation[] {
  const { status, owner, actions } = record;
  const report = createKeyReporter(record);
  if (status === 'processing' && owner === '') return [report('key_record', 'is processing without an owner')];
  if (status === 'released' && actions.at(-1)?.action !== 'release')
    return [report('key_record', 'is released without that action')];
  return [];
}

/**
 * Checks that the sweep finds a key when it is due. A key that needs an operator has a due time only until
 * the sweep has reported the key.
 *
 * @param sweepDueAt the field, if it is a number
 */
export function checkSweepDueAt(record: KeyRecord, sweepDueAt: number | null): Violation[] {
  const needsOperator = record.status === 'requires_review' && !canResumeAutomatically(record);
  if (needsOperator && sweepDueAt === null) return [];
  const dueAt = getSweepDueAt(record);
  if (sweepDueAt === dueAt) return [];
  const stored = sweepDueAt === null ? 'no time' : toTimeText(sweepDueAt);
  const message = `has ${stored} in sweep_due_at, but must have ${dueAt === null ? 'none' : toTimeText(dueAt)}`;
  return [createKeyReporter(record)('sweep_due_at', message)];
}

/** How long ago a lease can have expired without a violation. Several sweeps run in this time. */
const EXPIRED_LEASE_GRACE_MS = 5 * 60_000;

/** How long a key in review can be due without a violation. */
const OVERDUE_MS = 60 * 60_000;

/**
 * Checks that a sweep has processed a key that was due, and that no stored time is so far in the future that it delays
 * the sweep.
 *
 * @param readAt when the record was read, by Firestore's clock, from which all times of the record come
 */
export function checkSweepTimes(record: KeyRecord, sweepDueAt: number | null, readAt: number): Violation[] {
  const { status, lease_expires_at, updated_at } = record;
  const report = createKeyReporter(record);
  const minutesSince = (time: number) => Math.floor((readAt - time) / 60_000);
  if (status === 'requires_review' && updated_at > readAt) {
    const message = `was changed at ${toTimeText(updated_at)}, in the future, so no sweep resumes it before then: use resume or release`;
    return [report('sweep_due_at', message)];
  }
  if (status === 'requires_review' && sweepDueAt !== null && readAt >= sweepDueAt + OVERDUE_MS) {
    const message = `has been due for ${minutesSince(sweepDueAt)} min, and no sweep has resumed or reported it`;
    return [report('sweep_due_at', message)];
  }
  if (status === 'processing' && lease_expires_at > readAt + LEASE_DURATION_MS) {
    const message = `has a lease until ${toTimeText(lease_expires_at)}, longer than any instance grants`;
    return [report('lease', message)];
  }
  if (status === 'processing' && readAt >= lease_expires_at + EXPIRED_LEASE_GRACE_MS) {
    const message = `is processing, but its lease expired ${minutesSince(lease_expires_at)} min ago, and no sweep has resumed it`;
    return [report('lease', message)];
  }
  return [];
}

/** The sweep's index can hold a number that is no time. */
const toTimeText = (ms: number): string =>
  Number.isNaN(new Date(ms).getTime()) ? String(ms) : new Date(ms).toISOString();
