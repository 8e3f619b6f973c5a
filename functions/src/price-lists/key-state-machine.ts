import { LEASE_DURATION_MS } from '../lib/time-limits';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type {
  ArchivedAttempt,
  Attempt,
  FailureCause,
  KeyRecord,
  OperatorAction,
  Progress,
} from '../lib/schemas/key-record';
import { createSuccessResponse } from './stored-documents';
import { canResumeAutomatically, getAttemptWaitMs, getReviewWaitMs } from './sweep-schedule';

/**
 * The states of an idempotency key, as pure transitions. A transition returns the key record after
 * an event, and its outcome for the sender. key-store.ts reads and writes the record.
 *
 *                               ┌───────────────── resume ────────────────┐
 *                               ▼                                         │
 *     (none) ── claim ──▶ processing ── fail, expired lease ──▶ requires_review ── release ──▶ released
 *                            │  ▲  │                                                              │
 *                            │  └──┘ renew                                                        │
 *                            │                                          processing ◀──── claim ───┤
 *                            └── complete ──▶ completed ──────── release, without lists ──────────┘
 *
 * A claim without a market also completes the key, if its commit stores the whole payload.
 *
 * For any order of events:
 * - A completion with lists is final. An operator can release one without lists.
 * - Only the owner of an attempt renews, completes or fails it. Other senders' events first expire a lease that has run out.
 * - An event without effect returns the identical record.
 *
 * The time of an event is the read time of the record that it judges. All stored times come from this
 * one clock, Firestore's, so no later event has an earlier time.
 */

export type KeyEvent =
  /** A submission takes an available key. `isStored`: the commit of the claim stores the whole payload. */
  | { kind: 'claim'; attempt: AttemptDraft; info: PriceListInfo; isStored: boolean }
  /** The owner is still working and reports its progress. */
  | { kind: 'renew'; attempt: Attempt; progress: Progress }
  /** All entries are written. */
  | { kind: 'complete'; attempt: Attempt; info: PriceListInfo }
  /** The owner's attempt failed or was stopped. */
  | { kind: 'fail'; attempt: Attempt; reason: string; cause: FailureCause }
  /** Expires a lease that has run out, unless the caller owns it. `caller`: null if the sender has no attempt. */
  | { kind: 'expire'; caller: CallerIdentity | null }
  /** An operator, or the sweep, takes over the attempt with this `document_id`. */
  | ({ kind: 'resume'; document_id: string; attempt: Pick<Attempt, 'owner'> } & ResumeDecision)
  /** The sweep found a record from which no attempt can be resumed. */
  | { kind: 'fail_permanently'; document_id: string; reason: string }
  /** An operator gives up the attempt with this `document_id` and frees its key. */
  | ({ kind: 'release'; document_id: string } & OperatorDecision);

export interface OperatorDecision {
  by: string;
  reason: string | null;
}

export interface ResumeDecision extends OperatorDecision {
  /** True for the sweep, which resumes only some attempts (sweep-schedule.ts). An operator can resume any in review. */
  isAutomatic: boolean;
}

export type AttemptDraft = Omit<Attempt, 'claimed_at' | 'lease_expires_at'>;

/** Identifies the attempt that the sender of an event works on or resolves, by the fields that the sender knows. */
export type CallerIdentity = Partial<Pick<Attempt, 'owner' | 'fingerprint' | 'document_id'>>;

/** What a key record means for the sender of an event. */
export type KeyOutcome =
  /** The sender owns the attempt in progress and may continue. */
  | { kind: 'owned'; record: KeyRecord }
  /** The key is completed. `isOwn`: the sender's own attempt completed it. */
  | { kind: 'completed'; record: KeyRecord; response: string; isOwn: boolean }
  /** The sender's own attempt failed. `retryAfterMs`: time until the client should ask again; null if an operator must act. */
  | { kind: 'failed'; reason: string; retryAfterMs: number | null }
  /** An operator released the attempt that the {@link CallerIdentity} identifies. */
  | { kind: 'released' }
  | { kind: 'payload_mismatch' }
  /** An attempt of another owner is in progress. `retryAfterMs`: time until the client should ask again. */
  | { kind: 'blocked'; by: 'attempt'; retryAfterMs: number }
  /** The key requires review, or its record is damaged. `retryAfterMs`: as for `failed`. */
  | { kind: 'blocked'; by: 'review'; retryAfterMs: number | null }
  /** The next submission can claim the key. */
  | { kind: 'available' };

export const LEASE_EXPIRED = 'lease expired before the attempt completed';

/** The name under which the sweep records its actions. */
export const SWEEP = 'sweep';

/** The owner after a lease expired. It equals no owner token. */
const NO_OWNER = '';

/**
 * Applies an event. Every event has an outcome in every state.
 *
 * @param now when `stored` was read, by Firestore's clock
 * @returns `record`: the record after the event; the identical object if nothing changed
 */
export function transition(stored: KeyRecord | undefined, event: KeyEvent, now: number) {
  const caller = getCaller(event);
  const record = getNextRecord(settleLease(stored, caller, now), event, now);
  return { record, outcome: getOutcome(record, caller) };
}

function getCaller(event: KeyEvent): CallerIdentity | null {
  switch (event.kind) {
    case 'expire':
      return event.caller;
    case 'resume':
      return { ...event.attempt, document_id: event.document_id };
    case 'release':
      return { document_id: event.document_id };
    case 'fail_permanently':
      return null;
    case 'claim':
    case 'renew':
    case 'complete':
    case 'fail':
      return event.attempt;
  }
}

/** @param record the record after {@link settleLease} */
function getNextRecord(record: KeyRecord | undefined, event: KeyEvent, now: number): KeyRecord | undefined {
  switch (event.kind) {
    case 'claim':
      return isAvailable(record, event.attempt) ? createClaim(record, event, now) : record;
    case 'renew': {
      if (!isOwnedBy(record, event.attempt)) return record;
      return { ...record, lease_expires_at: now + LEASE_DURATION_MS, progress: event.progress };
    }
    case 'complete':
      return isOwnedBy(record, event.attempt) ? complete(record, event.info, now) : record;
    case 'fail': {
      if (!isOwnedBy(record, event.attempt)) return record;
      if (event.cause === 'stopped' && isResume(record)) return undoResume(record, now);
      return update(record, { status: 'requires_review', failure: event.reason, failure_cause: event.cause }, now);
    }
    case 'expire':
      return record;
    case 'resume':
      if (!isInReview(record, event) || (event.isAutomatic && !canResumeAutomatically(record))) return record;
      return createResumedRecord(record, event, now);
    case 'fail_permanently':
      return isInReview(record, event) ? failPermanently(record, event.reason, now) : record;
    case 'release':
      return isInReview(record, event) || isWithoutLists(record, event)
        ? recordAction('release', { ...record, status: 'released' }, event, now)
        : record;
  }
}

const update = (record: KeyRecord, changed: Partial<KeyRecord>, now: number): KeyRecord => ({
  ...record,
  ...changed,
  updated_at: now,
});

const isInReview = (record: KeyRecord | undefined, event: { document_id: string }): record is KeyRecord =>
  record?.status === 'requires_review' && record.document_id === event.document_id;

/** Returns whether an attempt completed without lists. A new claim of its key cannot create anything twice. */
const isWithoutLists = (record: KeyRecord | undefined, event: { document_id: string }): record is KeyRecord =>
  record?.status === 'completed' && record.document_id === event.document_id && record.lists === null;

const isOwnedBy = (record: KeyRecord | undefined, caller: CallerIdentity | null): record is KeyRecord =>
  record?.status === 'processing' && record.owner === caller?.owner;

/**
 * Expires a lease that has run out, unless the caller owns it. The owner can keep such a lease, because its
 * commit requires that the record is unchanged since its read.
 */
const settleLease = (
  record: KeyRecord | undefined,
  caller: CallerIdentity | null,
  now: number,
): KeyRecord | undefined => (record === undefined || isOwnedBy(record, caller) ? record : expireLease(record, now));

const complete = (record: KeyRecord, info: PriceListInfo, now: number): KeyRecord =>
  update(record, { status: 'completed', response: createSuccessResponse(record, info, now) }, now);

/** Marks the failure as permanent, so that the sweep does not resume the attempt and clients do not wait for it. */
const failPermanently = (record: KeyRecord, failure: string, now: number): KeyRecord =>
  record.failure_cause === 'error' ? record : update(record, { failure, failure_cause: 'error' }, now);

/** Returns whether an attempt is in progress under its lease. @param now when the record was read, by Firestore's clock */
export const isLeaseHeld = ({ status, lease_expires_at }: KeyRecord, now: number): boolean =>
  status === 'processing' && now < lease_expires_at;

/** Puts an attempt in progress into review, without an owner, if its lease has run out. Leaves other records unchanged. */
export function expireLease(record: KeyRecord, now: number): KeyRecord {
  if (record.status !== 'processing' || isLeaseHeld(record, now)) return record;
  const failure = { failure: LEASE_EXPIRED, failure_cause: 'lease_expired' } as const;
  return update(record, { status: 'requires_review', owner: NO_OWNER, ...failure }, now);
}

/** Returns whether an attempt can claim a key. A released attempt cannot, even if its claim is repeated. */
function isAvailable(record: KeyRecord | undefined, attempt: CallerIdentity): boolean {
  return record === undefined || (record.status === 'released' && !isReleased(record, attempt));
}

function isReleased({ status, document_id, history }: KeyRecord, caller: CallerIdentity | null): boolean {
  const released = status === 'released' ? [document_id] : [];
  return [...released, ...history.map((attempt) => attempt.document_id)].some((id) => id === caller?.document_id);
}

/** @param released the record of a released attempt; undefined if the key has no record */
function createClaim(
  released: KeyRecord | undefined,
  { attempt, info, isStored }: Extract<KeyEvent, { kind: 'claim' }>,
  now: number,
): KeyRecord {
  const claimed: KeyRecord = {
    schema_version: 1,
    boq_list_id: info.boq_list_id,
    ...attempt,
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
  return attempt.lists === null && isStored ? complete(claimed, info, now) : claimed;
}

function createResumedRecord(record: KeyRecord, event: Extract<KeyEvent, { kind: 'resume' }>, now: number): KeyRecord {
  // A resume by a person resets the count of resumes by the sweep.
  const automatic_resumes = event.isAutomatic ? record.automatic_resumes + 1 : 0;
  const attempt = { ...event.attempt, lease_expires_at: now + LEASE_DURATION_MS, progress: null };
  const resumed = { ...record, ...attempt, status: 'processing', automatic_resumes } as const;
  return recordAction('resume', resumed, event, now);
}

/** Returns whether the attempt in progress is a resume. Otherwise the last action is the release before its claim, if any. */
const isResume = ({ actions }: KeyRecord): boolean => actions.at(-1)?.action === 'resume';

/** Undoes a resume that was stopped, so that it does not count as a try. */
function undoResume(record: KeyRecord, now: number): KeyRecord {
  const actions = record.actions.slice(0, -1);
  const automatic_resumes = actions.length - 1 - actions.findLastIndex(({ by }) => by !== SWEEP);
  return update(record, { status: 'requires_review', actions, automatic_resumes }, now);
}

/** Drops the fields that an archived attempt does not have. Keeps fields that only a later version knows. */
function toArchived(record: KeyRecord): ArchivedAttempt {
  const { schema_version, boq_list_id, status, updated_at, history, actions, ...rest } = record;
  const { failure_cause, progress, automatic_resumes, ...attempt } = rest;
  return { ...attempt, settled_at: updated_at };
}

const recordAction = (
  action: OperatorAction['action'],
  record: KeyRecord,
  { by, reason }: OperatorDecision,
  now: number,
): KeyRecord => update(record, { actions: [...record.actions, { action, at: now, by, reason }] }, now);

function getOutcome(record: KeyRecord | undefined, caller: CallerIdentity | null): KeyOutcome {
  if (record === undefined) return { kind: 'available' };
  if (record.status === 'released') return isReleased(record, caller) ? { kind: 'released' } : { kind: 'available' };
  if (caller?.fingerprint !== record.fingerprint) {
    // After the release of the sender's attempt, the key can have been claimed with another payload.
    if (isReleased(record, caller)) return { kind: 'released' };
    if (caller?.fingerprint !== undefined) return { kind: 'payload_mismatch' };
  }
  const isOwn = record.owner === caller?.owner;
  switch (record.status) {
    case 'processing':
      if (isOwn) return { kind: 'owned', record };
      return { kind: 'blocked', by: 'attempt', retryAfterMs: getAttemptWaitMs(record) };
    case 'completed':
      // The service stores the response together with this status, so a record without a response is damaged.
      if (record.response === null) return { kind: 'blocked', by: 'review', retryAfterMs: null };
      return { kind: 'completed', record, response: record.response, isOwn };
    case 'requires_review':
      if (!isOwn) return { kind: 'blocked', by: 'review', retryAfterMs: getReviewWaitMs(record) };
      return { kind: 'failed', reason: record.failure ?? 'unknown', retryAfterMs: getReviewWaitMs(record) };
  }
}
