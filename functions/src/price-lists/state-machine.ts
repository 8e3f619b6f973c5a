import type { Attempt, KeyRecord, OperatorAction, SettledAttempt } from '../lib/schemas/key-record';

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
  | { type: 'posted'; info: { boq_list_id: string }; attempt: Attempt; response: string | null }
  /** All entries are written. */
  | { type: 'finished'; attempt: Attempt; response: string }
  /** The owner gives up. */
  | { type: 'failed'; attempt: Attempt; reason: string }
  /** Somebody looks at the record, and settles it if its lease has run out. */
  | { type: 'met'; by: Asker }
  /** An operator takes over the attempt of this request record. */
  | ({ type: 'resumed'; owner: string; lease_expires_at: number } & Operation)
  /** An operator gives up the attempt of this request record, and frees its key. */
  | ({ type: 'released' } & Operation);

/** What an operator decides, on which attempt, as he saw it. */
export interface Operation {
  document_id: string;
  by: string;
  reason: string | null;
}

/** Who asks, and with what: nothing is known of an operator. */
export type Asker = Partial<Pick<Attempt, 'owner' | 'fingerprint' | 'document_id'>>;

export type Verdict =
  /** The attempt is the caller's own and live: go on. */
  | { is: 'owned'; record: KeyRecord }
  /** Completed; `own` by the caller's own attempt. */
  | { is: 'completed'; response: string; own: boolean }
  /** The caller's own attempt failed. */
  | { is: 'failed' }
  /** Another payload holds the key. */
  | { is: 'payload_differs' }
  /** Processing elsewhere (`retry_after_ms` while that attempt's lease lives), or awaiting an operator. */
  | { is: 'unsettled'; retry_after_ms: number | null }
  /** Released: the next post may claim it. */
  | { is: 'free' };

export interface Transition {
  /** The record from now on; the one that was given if nothing changes. */
  record: KeyRecord | undefined;
  verdict: Verdict;
}

export const LEASE_RAN_OUT = 'the lease ran out before the attempt was finished';

/** The owner of a record whose lease has run out: no token is empty. */
const NOBODY = '';

/** What an event makes of a key's record at a time. Total: every event has its answer in every state. */
export function transition(given: KeyRecord | undefined, event: KeyEvent, now: number): Transition {
  const record = given === undefined ? undefined : lapse(given, now);
  switch (event.type) {
    case 'posted': {
      const verdict = judge(record, event.attempt, now);
      if (verdict.is !== 'free') return { record, verdict };
      const claimed = claim(record, event, now);
      return { record: claimed, verdict: judge(claimed, event.attempt, now) };
    }
    case 'finished':
      return change(record, event.attempt, now, (live) => ({ ...live, status: 'completed', response: event.response }));
    case 'failed':
      return change(record, event.attempt, now, (live) => ({
        ...live,
        status: 'requires_review',
        failure: event.reason,
      }));
    case 'met':
      return { record, verdict: judge(record, event.by, now) };
    case 'resumed': {
      const { owner, lease_expires_at } = event;
      if (!isReviewable(record, event)) return { record, verdict: judge(record, { owner }, now) };
      const live = act('resume', { ...record, status: 'processing', owner, lease_expires_at }, event, now);
      return { record: live, verdict: judge(live, { owner }, now) };
    }
    case 'released': {
      if (!isReviewable(record, event)) return { record, verdict: judge(record, {}, now) };
      const free = act('release', { ...record, status: 'released' }, event, now);
      return { record: free, verdict: judge(free, {}, now) };
    }
  }
}

const isReviewable = (record: KeyRecord | undefined, { document_id }: Operation): record is KeyRecord =>
  record?.status === 'requires_review' && record.document_id === document_id;

/** The record as it is once its lease is taken into account: one that has run out leaves nobody its owner. */
function lapse(record: KeyRecord, now: number): KeyRecord {
  if (record.status !== 'processing' || now < record.lease_expires_at) return record;
  return { ...record, status: 'requires_review', owner: NOBODY, failure: LEASE_RAN_OUT, updated_at: now };
}

function claim(
  released: KeyRecord | undefined,
  { info, attempt, response }: Extract<KeyEvent, { type: 'posted' }>,
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
    history: released === undefined ? [] : [...released.history, settled(released)],
    actions: released?.actions ?? [],
  };
}

function settled(record: KeyRecord): SettledAttempt {
  const { schema_version, boq_list_id, status, response, history, actions, updated_at, ...attempt } = record;
  return { ...attempt, settled_at: updated_at };
}

/** A step that only the owner of a live record may take; for anyone else the record stays as it is. */
function change(
  record: KeyRecord | undefined,
  attempt: Attempt,
  now: number,
  step: (live: KeyRecord) => KeyRecord,
): Transition {
  const owned = record?.status === 'processing' && record.owner === attempt.owner;
  const next = owned ? { ...step(record), updated_at: now } : record;
  return { record: next, verdict: judge(next, attempt, now) };
}

const act = (
  action: OperatorAction['action'],
  record: KeyRecord,
  { by, reason }: Operation,
  now: number,
): KeyRecord => ({ ...record, updated_at: now, actions: [...record.actions, { action, at: now, by, reason }] });

/** What a record means for someone with this token and this payload. */
function judge(record: KeyRecord | undefined, who: Asker, now: number): Verdict {
  if (record === undefined) return { is: 'free' };
  if (record.status === 'released') {
    // What was settled is not taken up again: neither by a zombie, nor by a claim that landed and was told otherwise.
    const own = [record, ...record.history].some(({ document_id }) => document_id === who.document_id);
    return own ? { is: 'unsettled', retry_after_ms: null } : { is: 'free' };
  }
  if (who.fingerprint !== undefined && who.fingerprint !== record.fingerprint) return { is: 'payload_differs' };
  switch (record.status) {
    case 'processing':
      if (record.owner === who.owner) return { is: 'owned', record };
      return { is: 'unsettled', retry_after_ms: record.lease_expires_at - now };
    case 'completed':
      // A completed record always holds its response; one without was not written by this service.
      if (record.response === null) return { is: 'unsettled', retry_after_ms: null };
      return { is: 'completed', response: record.response, own: record.owner === who.owner };
    case 'requires_review':
      return record.owner === who.owner ? { is: 'failed' } : { is: 'unsettled', retry_after_ms: null };
  }
}
