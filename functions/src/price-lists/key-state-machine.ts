import type { Attempt, KeyRecord, OperatorAction, ArchivedAttempt } from '../lib/schemas/key-record';

/**
 * The life of an idempotency key, as pure decisions: what an event makes of a key's record, and what whoever brought
 * the event is told. Reading and writing the record in one transaction is the repository's part.
 *
 *                         ┌────────────── resumed ─────────────┐
 *                         ▼                                    │
 *     (none) ─ posted ▶ processing ─ failed, lease run out ▶ requires_review ─ released ▶ released ─ posted ▶ processing
 *                         │
 *                         └─ finished ▶ completed
 *
 * Guarantees, for any order of events: `completed` absorbs every one; only the owner of a live record finishes or fails it, so an
 * attempt that was superseded changes nothing; an event that changes nothing returns the very record it was given.
 */

export type KeyEvent =
  /** A request for the key. `response`: the answer if the claim itself completes it. */
  | { kind: 'submitted'; info: { boq_list_id: string }; attempt: Attempt; response: string | null }
  /** All entries are written. */
  | { kind: 'completed'; attempt: Attempt; response: string }
  /** The owner gives up. */
  | { kind: 'failed'; attempt: Attempt; reason: string }
  /** Somebody looks at the record, and settles it if its lease has run out. */
  | { kind: 'inspected'; by: KeyCaller }
  /** An operator takes over the attempt of this request record. */
  | ({ kind: 'resumed'; owner: string; lease_expires_at: number } & OperatorDecision)
  /** An operator gives up the attempt of this request record, and frees its key. */
  | ({ kind: 'released' } & OperatorDecision);

/** What an operator decides, on which attempt, as he saw it. */
export interface OperatorDecision {
  document_id: string;
  by: string;
  reason: string | null;
}

/** Who asks, and with what: nothing is known of an operator. */
export type KeyCaller = Partial<Pick<Attempt, 'owner' | 'fingerprint' | 'document_id'>>;

export type KeyOutcome =
  /** The attempt is the caller's own and live: go on. */
  | { kind: 'owned'; record: KeyRecord }
  /** Completed; `own` by the caller's own attempt. */
  | { kind: 'completed'; response: string; isOwn: boolean }
  /** The caller's own attempt failed. */
  | { kind: 'failed' }
  /** Another payload holds the key. */
  | { kind: 'payload_mismatch' }
  /** Processing elsewhere (`retry_after_ms` while that attempt's lease lives), or awaiting an operator. */
  | { kind: 'blocked'; retryAfterMs: number | null }
  /** Released: the next post may claim it. */
  | { kind: 'available' };

export interface Transition {
  /** The record from now on; the one that was given if nothing changes. */
  record: KeyRecord | undefined;
  verdict: KeyOutcome;
}

export const LEASE_EXPIRED = 'the lease ran out before the attempt was finished';

/** The owner of a record whose lease has run out: no token is empty. */
const NO_OWNER = '';

/** What an event makes of a key's record at a time. Total: every event has its answer in every state. */
export function transition(given: KeyRecord | undefined, event: KeyEvent, now: number): Transition {
  const record = given === undefined ? undefined : expireLease(given, now);
  switch (event.kind) {
    case 'submitted': {
      const verdict = getOutcome(record, event.attempt, now);
      if (verdict.kind !== 'available') return { record, verdict };
      const claimed = createClaimedRecord(record, event, now);
      return { record: claimed, verdict: getOutcome(claimed, event.attempt, now) };
    }
    case 'completed':
      return applyAsOwner(record, event.attempt, now, (live) => ({
        ...live,
        status: 'completed',
        response: event.response,
      }));
    case 'failed':
      return applyAsOwner(record, event.attempt, now, (live) => ({
        ...live,
        status: 'requires_review',
        failure: event.reason,
      }));
    case 'inspected':
      return { record, verdict: getOutcome(record, event.by, now) };
    case 'resumed': {
      const { owner, lease_expires_at } = event;
      if (!isReviewable(record, event)) return { record, verdict: getOutcome(record, { owner }, now) };
      const live = recordAction('resume', { ...record, status: 'processing', owner, lease_expires_at }, event, now);
      return { record: live, verdict: getOutcome(live, { owner }, now) };
    }
    case 'released': {
      if (!isReviewable(record, event)) return { record, verdict: getOutcome(record, {}, now) };
      const free = recordAction('release', { ...record, status: 'released' }, event, now);
      return { record: free, verdict: getOutcome(free, {}, now) };
    }
  }
}

const isReviewable = (record: KeyRecord | undefined, { document_id }: OperatorDecision): record is KeyRecord =>
  record?.status === 'requires_review' && record.document_id === document_id;

/** The record as it is once its lease is taken into account: one that has run out leaves nobody its owner. */
function expireLease(record: KeyRecord, now: number): KeyRecord {
  if (record.status !== 'processing' || now < record.lease_expires_at) return record;
  return { ...record, status: 'requires_review', owner: NO_OWNER, failure: LEASE_EXPIRED, updated_at: now };
}

function createClaimedRecord(
  released: KeyRecord | undefined,
  { info, attempt, response }: Extract<KeyEvent, { kind: 'submitted' }>,
  now: number,
): KeyRecord {
  return {
    schema_version: 1,
    boq_list_id: info.boq_list_id,
    ...attempt,
    status: response === null ? 'processing' : 'completed',
    updated_at: now,
    response,
    failure: null,
    history: released === undefined ? [] : [...released.history, archiveAttempt(released)],
    actions: released?.actions ?? [],
  };
}

function archiveAttempt(record: KeyRecord): ArchivedAttempt {
  const { schema_version, boq_list_id, status, response, history, actions, updated_at, ...attempt } = record;
  return { ...attempt, settled_at: updated_at };
}

/** A step that only the owner of a live record may take; for anyone else the record stays as it is. */
function applyAsOwner(
  record: KeyRecord | undefined,
  attempt: Attempt,
  now: number,
  step: (live: KeyRecord) => KeyRecord,
): Transition {
  const owned = record?.status === 'processing' && record.owner === attempt.owner;
  const next = owned ? { ...step(record), updated_at: now } : record;
  return { record: next, verdict: getOutcome(next, attempt, now) };
}

const recordAction = (
  action: OperatorAction['action'],
  record: KeyRecord,
  { by, reason }: OperatorDecision,
  now: number,
): KeyRecord => ({ ...record, updated_at: now, actions: [...record.actions, { action, at: now, by, reason }] });

/** What a record means for someone with this token and this payload. */
function getOutcome(record: KeyRecord | undefined, who: KeyCaller, now: number): KeyOutcome {
  if (record === undefined) return { kind: 'available' };
  if (record.status === 'released') {
    // What was settled is not taken up again: neither by a zombie, nor by a claim that landed and was told otherwise.
    const own = [record, ...record.history].some(({ document_id }) => document_id === who.document_id);
    return own ? { kind: 'blocked', retryAfterMs: null } : { kind: 'available' };
  }
  if (who.fingerprint !== undefined && who.fingerprint !== record.fingerprint) return { kind: 'payload_mismatch' };
  switch (record.status) {
    case 'processing':
      if (record.owner === who.owner) return { kind: 'owned', record };
      return { kind: 'blocked', retryAfterMs: record.lease_expires_at - now };
    case 'completed':
      // A completed record always holds its response; one without was not written by this service.
      if (record.response === null) return { kind: 'blocked', retryAfterMs: null };
      return { kind: 'completed', response: record.response, isOwn: record.owner === who.owner };
    case 'requires_review':
      return record.owner === who.owner ? { kind: 'failed' } : { kind: 'blocked', retryAfterMs: null };
  }
}
