import { LoggableError } from '../lib/errors';
import type { Claim, FailureCause, KeyRecord, OperatorAction } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../lib/time-limits';
import type { ListDocuments } from '../lib/repositories/lists';
import { toListDocuments, toSuccessResponse } from './documents';
import { canResumeAutomatically, getAttemptWaitMs, getRecovery, SWEEP_RECOVERY, type Recovery } from './schedule';

/**
 * The states of an idempotency key, as pure transitions. key-store.ts applies them to stored records.
 * docs/architecture.md#states-of-a-key draws the states.
 *
 * For any order of events:
 * - A completion with lists is final. An operator can release a completed key without lists.
 * - Only the owner of an attempt renews its lease or completes the attempt, and nobody else fails the attempt before the
 *   lease has expired. Ownership is checked before the lease, so after its lease has expired, an owner keeps the attempt
 *   until the sweep or an operator acts on it.
 * - An event that is not accepted changes nothing, except that a resume by the sweep can store that a lease has expired.
 *
 * The time of an event is the time at which Firestore read the record for it. All stored times come from Firestore's
 * clock, so no later event has an earlier time.
 */
export type KeyEvent =
  | { kind: 'claim'; claim: Claim }
  | { kind: 'renew'; attempt: AttemptOwner }
  | { kind: 'complete'; attempt: AttemptOwner }
  | { kind: 'fail'; attempt: AttemptOwner; failure: string; cause: FailureCause }
  /**
   * An operator takes over the attempt, or the sweep does (`operator` is null). If the sweep may not resume an attempt
   * (schedule.ts) and its lease has expired, this event fails the attempt instead.
   */
  | { kind: 'resume'; attempt: AttemptOwner; operator: OperatorDecision | null }
  /** An operator gives up the attempt, and frees its key. `attempt` is from the record as the operator read it. */
  | { kind: 'release'; attempt: AttemptOwner; operator: OperatorDecision };

/** Which attempt an event is about, and the owner that sends the event. A release names the owner in the record. */
export type AttemptOwner = Pick<Claim, 'document_id' | 'fingerprint' | 'owner'>;

export interface OperatorDecision {
  by: string;
  reason: string | null;
}

export interface ReadMoment {
  /** When Firestore read the record, by its clock in Unix milliseconds. */
  readAt: number;
  /** When this process began the read, in milliseconds of its own clock (`Clock.elapsedMs`). */
  startedAt: number;
}

/** What a key record means for the sender of an event. The sender of a release counts as the owner in the record. */
export type KeyOutcome =
  /**
   * The sender owns the attempt in progress, and can continue. `heldUntil` is the earliest time at which its lease ends,
   * by the clock of this process. A read with the read time R began no later than R, so a lease until E lasts at least
   * E - R from the start of the read.
   */
  | { kind: 'owned'; record: KeyRecord; heldUntil: number }
  /** The key is completed. `isOwn` says whether the sender itself completed it. */
  | { kind: 'completed'; record: KeyRecord; response: string; isOwn: boolean }
  /** The sender's own try failed. */
  | { kind: 'failed'; reason: string; recovery: Recovery }
  /** An operator released the sender's attempt. */
  | { kind: 'released' }
  /** The key record of the sender's attempt does not exist. Someone deleted it, or a restored database lacks it. */
  | { kind: 'deleted' }
  | { kind: 'payload_mismatch' }
  /** An attempt of another owner is in progress. */
  | { kind: 'in_progress'; retryAfterMs: number }
  /** The key requires review, the lease of another owner has expired, or the record is unreadable. */
  | { kind: 'in_review'; recovery: Recovery };

export interface Decision {
  /** The record to store; undefined if the event changes nothing. */
  record?: KeyRecord;
  /** The documents of both lists to store; null for a key without lists, for a renewal, and if the event changes nothing. */
  lists: ListDocuments | null;
  outcome: KeyOutcome;
}

const LEASE_EXPIRED = 'lease expired before the attempt completed';

/** Stored as the owner by a release, or a sweep that leaves the key, if it finds an expired lease. Equals no owner token. */
const NO_OWNER = '';

/** Applies an event to a stored record. Every event has an outcome in every state. */
export function transition(stored: KeyRecord | undefined, event: KeyEvent, moment: ReadMoment): Decision {
  const record = getNextRecord(stored, event, moment.readAt);
  const sender = event.kind === 'claim' ? event.claim : event.attempt;
  if (record === undefined) return { lists: null, outcome: getOutcome(stored, sender, moment) };
  const lists = event.kind === 'renew' || record.lists === null ? null : toListDocuments(record, record.lists);
  return { record, lists, outcome: getOutcome(record, sender, moment) };
}

function getNextRecord(stored: KeyRecord | undefined, event: KeyEvent, now: number): KeyRecord | undefined {
  if (event.kind === 'claim') {
    // A released attempt cannot claim its key again, even if its claim is repeated.
    const isReleased = stored?.status === 'released' && stored.document_id !== event.claim.document_id;
    return stored === undefined || isReleased ? createClaim(event.claim, now) : undefined;
  }
  const { attempt } = event;
  if (stored?.document_id !== attempt.document_id) return undefined;
  const isOwned = stored.status === 'processing' && stored.owner === attempt.owner;
  switch (event.kind) {
    case 'renew':
      return isOwned ? { ...stored, ...createLease(now) } : undefined;
    case 'complete':
      return isOwned ? complete(stored, now) : undefined;
    case 'fail':
      return isOwned ? fail(stored, event.failure, event.cause, now) : undefined;
    case 'resume':
      // If the sender already owns the key, this event repeats the resume that took it over. The next call renews the lease if
      // that is due.
      return isOwned ? undefined : resume(stored, event, now);
    case 'release':
      return release(stored, event.operator, now);
  }
}

const createLease = (now: number) => ({ lease_expires_at: now + LEASE_DURATION_MS });

/** @param now when the record was read, by Firestore's clock */
export const isLeaseHeld = ({ status, lease_expires_at }: KeyRecord, now: number): boolean =>
  status === 'processing' && now < lease_expires_at;

function createClaim(claim: Claim, now: number): KeyRecord {
  const claimed: KeyRecord = {
    ...claim,
    ...createLease(now),
    schema_version: 1,
    status: 'processing',
    claimed_at: now,
    updated_at: now,
    response: null,
    failure: null,
    failure_cause: null,
    failed_tries: 0,
    actions: [],
  };
  return claim.lists === null ? complete(claimed, now) : claimed;
}

function complete(record: KeyRecord, now: number): KeyRecord {
  const completed: KeyRecord = { ...record, status: 'completed', updated_at: now };
  return { ...completed, response: toSuccessResponse(completed) };
}

/** Counts the try as failed, except after a stop, because nothing was wrong with a try that was stopped. */
function fail(record: KeyRecord, failure: string, failure_cause: FailureCause, now: number): KeyRecord {
  const failed_tries = record.failed_tries + (failure_cause === 'stopped' ? 0 : 1);
  return { ...record, status: 'requires_review', failure, failure_cause, failed_tries, updated_at: now };
}

/** Returns the record as it counts for everyone except the owner: if its lease has expired, the try has failed. */
export const settleLease = (record: KeyRecord, now: number): KeyRecord =>
  record.status !== 'processing' || isLeaseHeld(record, now)
    ? record
    : { ...fail(record, LEASE_EXPIRED, 'lease_expired', now), owner: NO_OWNER };

function resume(
  stored: KeyRecord,
  { attempt, operator }: Extract<KeyEvent, { kind: 'resume' }>,
  now: number,
): KeyRecord | undefined {
  const record = settleLease(stored, now);
  if (record.status !== 'requires_review') return undefined;
  if (operator === null && !canResumeAutomatically(record)) return record === stored ? undefined : record;
  const taken = { ...record, ...createLease(now), owner: attempt.owner, updated_at: now };
  if (operator === null) return { ...taken, status: 'processing' };
  const actions = [...record.actions, toAction('resume', operator, now)];
  return { ...taken, status: 'processing', failed_tries: 0, actions };
}

function release(stored: KeyRecord, operator: OperatorDecision, now: number): KeyRecord | undefined {
  const record = settleLease(stored, now);
  const isWithoutLists = record.status === 'completed' && record.lists === null;
  if (record.status !== 'requires_review' && !isWithoutLists) return undefined;
  const actions = [...record.actions, toAction('release', operator, now)];
  return { ...record, status: 'released', response: null, updated_at: now, actions };
}

const toAction = (action: OperatorAction['action'], operator: OperatorDecision, at: number): OperatorAction => ({
  action,
  at,
  ...operator,
});

function getOutcome(
  record: KeyRecord | undefined,
  sender: AttemptOwner,
  { readAt, startedAt }: ReadMoment,
): KeyOutcome {
  // A claim would have created the record, so this event is not a claim.
  if (record === undefined) return { kind: 'deleted' };
  const isOwn = record.owner === sender.owner;
  if (record.status === 'released') return { kind: 'released' };
  if (record.fingerprint !== sender.fingerprint) return { kind: 'payload_mismatch' };
  switch (record.status) {
    case 'processing':
      if (isOwn) return { kind: 'owned', record, heldUntil: startedAt + record.lease_expires_at - readAt };
      if (isLeaseHeld(record, readAt)) return { kind: 'in_progress', retryAfterMs: getAttemptWaitMs(record) };
      // The owner can still complete the attempt, so the key needs no operator yet, even if the sweep would not resume the attempt.
      return { kind: 'in_review', recovery: SWEEP_RECOVERY };
    case 'completed':
      return { kind: 'completed', record, response: required(record.response), isOwn };
    case 'requires_review': {
      const recovery = getRecovery(record);
      return isOwn ? { kind: 'failed', reason: required(record.failure), recovery } : { kind: 'in_review', recovery };
    }
  }
}

/** @throws Error for null, which the schema of key records rules out for all callers */
function required<T>(value: T | null): T {
  if (value === null) throw new LoggableError('a key record lacks a value that its status requires');
  return value;
}
