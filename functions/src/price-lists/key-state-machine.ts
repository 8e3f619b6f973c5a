import { LEASE_DURATION_MS, SWEEP_INTERVAL_MS, SWEEP_START_MS } from '../lib/time-limits';
import {
  archivedAttemptSchema,
  type ArchivedAttempt,
  type Attempt,
  type FailureCause,
  type KeyRecord,
  type OperatorAction,
  type Progress,
} from '../lib/schemas/key-record';
import { estimateRemainingMs } from './progress';

/**
 * The states of an idempotency key, as pure transitions: what an event makes of a key record, and
 * what that means for the sender of the event. key-store.ts reads and writes the record.
 *
 *                               ┌──────────────── resumed ────────────────┐
 *                               ▼                                         │
 *     (none) ── claim ──▶ processing ── failed, lease expired ──▶ requires_review ── released ──▶ released
 *                            │  ▲  │                                                                 │
 *                            │  └──┘ renewed                                                         │
 *                            │                                           processing ◀───── claim ────┘
 *                            └── completed ──▶ completed
 *
 * Without a market the claim itself is the completion.
 *
 * For any order of events: `completed` is final; only the owner renews, completes or fails an
 * attempt, so a stale attempt changes nothing; an event without effect returns the identical
 * record.
 */

export type KeyEvent =
  /** The owner is still at work, and has come so far. */
  | { kind: 'renewed'; attempt: Attempt; progress: Omit<Progress, 'measured_at'> }
  /** All entries are written. `completedAt`: the time in the response. */
  | { kind: 'completed'; attempt: Attempt; response: string; completedAt: number }
  /** The owner stops. */
  | { kind: 'failed'; attempt: Attempt; reason: string; cause: FailureCause }
  /** Whoever meets a lapsed lease that is not its own lets that take effect. `caller`: null for a sweep. */
  | { kind: 'expireIfLapsed'; caller: CallerIdentity | null }
  /** The sweep found that the attempt with this `document_id` has no payload to go on with: only an operator can. */
  | { kind: 'payloadUnusable'; document_id: string; reason: string }
  /** An operator, or the sweep, takes over the attempt with this `document_id`. */
  | ({ kind: 'resumed'; document_id: string; attempt: Pick<Attempt, 'owner'> } & ResumeDecision)
  /** An operator gives up the attempt with this `document_id` and frees its key. */
  | ({ kind: 'released'; document_id: string } & OperatorDecision);

/** Who resolves a key, and why. */
export interface OperatorDecision {
  by: string;
  reason: string | null;
}

export interface ResumeDecision extends OperatorDecision {
  /** Of the sweep, which resumes an attempt a few times; a person may resume any that requires review. */
  isAutomatic: boolean;
}

/** An attempt without the times, which its claim decides. */
export type AttemptDraft = Omit<Attempt, 'claimed_at' | 'lease_expires_at'>;

/** Identifies the attempt that sends an event; a resume has only an owner token, and a release nothing. */
export type CallerIdentity = Partial<Pick<Attempt, 'owner' | 'fingerprint' | 'fingerprint_version' | 'document_id'>>;

/** What a key record means for the sender of an event. */
export type KeyOutcome =
  /** The sender owns the attempt in progress: go on. */
  | { kind: 'owned'; record: KeyRecord }
  /** Completed; `isOwn` by the sender's own attempt. */
  | { kind: 'completed'; response: string; isOwn: boolean }
  /** The sender's own attempt failed, for this reason. `retryAfterMs`: when the sweep may have resumed it, or null. */
  | { kind: 'failed'; reason: string; retryAfterMs: number | null }
  | { kind: 'payload_mismatch' }
  /** Another attempt is in progress; `retryAfterMs`: estimated time until it completes. */
  | { kind: 'blocked'; by: 'attempt'; retryAfterMs: number }
  /** The key requires review. `retryAfterMs`: when the sweep may have resumed its attempt; null if an operator is needed. */
  | { kind: 'blocked'; by: 'review'; retryAfterMs: number | null }
  /** The next submission may claim the key. */
  | { kind: 'available' };

export const LEASE_EXPIRED = 'lease expired before the attempt completed';

/** As whom the sweep signs what it does. */
export const SWEEP = 'sweep';

/** The owner after a lease expired. No owner token is empty. */
const NO_OWNER = '';

/**
 * Applies an event at a time. Total: every event has an outcome in every state.
 *
 * @returns the record after the event, the identical object if the event has no effect
 */
export function transition(given: KeyRecord | undefined, event: KeyEvent, now: number) {
  const record = getNextRecord(given, event, now);
  return { record, outcome: getOutcome(record, getCaller(event), now) };
}

function getCaller(event: KeyEvent): CallerIdentity | null {
  if (event.kind === 'expireIfLapsed') return event.caller;
  return 'attempt' in event ? event.attempt : null;
}

function getNextRecord(given: KeyRecord | undefined, event: KeyEvent, now: number): KeyRecord | undefined {
  const record = settleLease(given, getCaller(event), now);
  switch (event.kind) {
    case 'renewed': {
      if (!isOwnedBy(record, event.attempt)) return record;
      const progress = { ...event.progress, measured_at: now };
      return { ...record, lease_expires_at: now + LEASE_DURATION_MS, progress };
    }
    case 'completed':
      return isOwnedBy(record, event.attempt) ? complete(record, event.response, event.completedAt) : record;
    case 'failed': {
      if (!isOwnedBy(record, event.attempt)) return record;
      const failure = { failure: event.reason, failure_cause: event.cause };
      const given = event.cause === 'stopped' ? takeBackSweep(record) : record;
      return { ...given, status: 'requires_review', ...failure, updated_at: now };
    }
    case 'expireIfLapsed':
      return record;
    case 'payloadUnusable':
    case 'resumed':
    case 'released':
      if (record?.status !== 'requires_review' || record.document_id !== event.document_id) return record;
      if (event.kind === 'payloadUnusable') return failPermanently(record, event.reason);
      if (event.kind === 'released') return recordAction('release', { ...record, status: 'released' }, event, now);
      if (event.isAutomatic && getSweepObstacle(record) !== null) return record;
      return createResumedRecord(record, event, now);
  }
}

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
 * When the sweep has to look at a record, in Unix milliseconds; null: never. An attempt in progress
 * is due when its lease expires, also one that the sweep may not resume any more, since to settle
 * it is work.
 */
export function getSweepDueAt(record: KeyRecord): number | null {
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

/** A person may resolve an attempt meanwhile, so no client is sent away for longer. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Time until the sweep that takes an attempt that failed has begun; null if an operator is needed. */
export function getSweepDelayMs(record: KeyRecord, now: number): number | null {
  const dueAt = getSweepDueAt(record);
  if (dueAt === null) return null;
  const sweepAt = (Math.floor(Math.max(dueAt, now) / SWEEP_INTERVAL_MS) + 1) * SWEEP_INTERVAL_MS;
  return Math.min(sweepAt + SWEEP_START_MS - now, MAX_RETRY_AFTER_MS);
}

const isOwnedBy = (record: KeyRecord | undefined, caller: CallerIdentity | null): record is KeyRecord =>
  record?.status === 'processing' && record.owner === caller?.owner;

/**
 * Returns the record as it is for the caller. Whose the attempt is comes before whether its lease
 * has expired: that takes effect when anyone else meets it. This is safe since a write requires
 * that the record is unchanged since its read.
 */
const settleLease = (
  record: KeyRecord | undefined,
  caller: CallerIdentity | null,
  now: number,
): KeyRecord | undefined => (record === undefined || isOwnedBy(record, caller) ? record : expireLease(record, now));

/** Makes the record of a completed attempt. */
export const complete = (record: KeyRecord, response: string, completedAt: number): KeyRecord => ({
  ...record,
  status: 'completed',
  response,
  updated_at: completedAt,
});

/** Marks the failure as permanent: no sweep resumes the attempt, and no client is asked to wait for one. */
const failPermanently = (record: KeyRecord, failure: string): KeyRecord =>
  record.failure_cause === 'error' ? record : { ...record, failure, failure_cause: 'error' };

/** The record with an expired lease taken into account: such an attempt has no owner and requires review. */
export function expireLease(record: KeyRecord, now: number): KeyRecord {
  if (record.status !== 'processing' || now < record.lease_expires_at) return record;
  const expired = { failure: LEASE_EXPIRED, failure_cause: 'lease_expired', updated_at: now } as const;
  return { ...record, status: 'requires_review', owner: NO_OWNER, ...expired };
}

/**
 * Creates the record of a key that an attempt claims. Only for a key that {@link transition} found
 * `available`.
 *
 * @param released the record so far, of a released attempt; undefined: there is none
 */
export function createClaim(
  released: KeyRecord | undefined,
  boqListId: string,
  draft: AttemptDraft,
  now: number,
): KeyRecord {
  return {
    schema_version: 1,
    boq_list_id: boqListId,
    ...draft,
    claimed_at: now,
    lease_expires_at: now + LEASE_DURATION_MS,
    status: 'processing',
    updated_at: now,
    response: null,
    failure: null,
    failure_cause: null,
    progress: null,
    automatic_resumes: 0,
    history: released === undefined ? [] : [...released.history, toArchived(released)],
    actions: released?.actions ?? [],
  };
}

function createResumedRecord(record: KeyRecord, event: Extract<KeyEvent, { kind: 'resumed' }>, now: number): KeyRecord {
  // A person's decision starts the sweep's count again.
  const automatic_resumes = event.isAutomatic ? record.automatic_resumes + 1 : 0;
  const attempt = { ...event.attempt, lease_expires_at: now + LEASE_DURATION_MS, progress: null };
  const resumed = { ...record, ...attempt, status: 'processing', automatic_resumes } as const;
  return recordAction('resume', resumed, event, now);
}

/** A resume by the sweep that the platform stopped was no try: it does not count. */
function takeBackSweep(record: KeyRecord): KeyRecord {
  const last = record.actions.at(-1);
  if (record.automatic_resumes === 0 || last?.action !== 'resume' || last.by !== SWEEP) return record;
  return { ...record, automatic_resumes: record.automatic_resumes - 1, actions: record.actions.slice(0, -1) };
}

const toArchived = (record: KeyRecord): ArchivedAttempt =>
  archivedAttemptSchema.parse({ ...record, settled_at: record.updated_at });

const recordAction = (
  action: OperatorAction['action'],
  record: KeyRecord,
  { by, reason }: OperatorDecision,
  now: number,
): KeyRecord => ({ ...record, updated_at: now, actions: [...record.actions, { action, at: now, by, reason }] });

/** What a record means for the sender of an event. */
function getOutcome(record: KeyRecord | undefined, caller: CallerIdentity | null, now: number): KeyOutcome {
  if (record === undefined) return { kind: 'available' };
  if (record.status === 'released') {
    // A resolved attempt does not claim again: neither a stale one, nor one whose landed claim was
    // reported as failed.
    const isOwn = [record, ...record.history].some(({ document_id }) => document_id === caller?.document_id);
    return isOwn ? { kind: 'blocked', by: 'review', retryAfterMs: null } : { kind: 'available' };
  }
  // A later version, which may run beside this one, knows whether the payloads differ.
  if (record.fingerprint_version > (caller?.fingerprint_version ?? record.fingerprint_version))
    return { kind: 'blocked', by: 'review', retryAfterMs: null };
  if (caller?.fingerprint !== undefined && caller.fingerprint !== record.fingerprint) {
    // The caller's own attempt may have been released, and its key claimed with another payload
    // since.
    const isReleased = record.history.some(({ document_id }) => document_id === caller.document_id);
    return isReleased ? { kind: 'blocked', by: 'review', retryAfterMs: null } : { kind: 'payload_mismatch' };
  }
  const isOwn = record.owner === caller?.owner;
  switch (record.status) {
    case 'processing':
      if (isOwn) return { kind: 'owned', record };
      return { kind: 'blocked', by: 'attempt', retryAfterMs: estimateRemainingMs(record, now) };
    case 'completed':
      // This service always stores the response with the status.
      if (record.response === null) return { kind: 'blocked', by: 'review', retryAfterMs: null };
      return { kind: 'completed', response: record.response, isOwn };
    case 'requires_review':
      if (!isOwn) return { kind: 'blocked', by: 'review', retryAfterMs: getSweepDelayMs(record, now) };
      return { kind: 'failed', reason: record.failure ?? 'unknown', retryAfterMs: getSweepDelayMs(record, now) };
  }
}
