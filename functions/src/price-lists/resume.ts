import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { readKeyRecord } from '../lib/repositories/stored-price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { applyEvent } from './apply-event';
import { completeAttempt, failAttempt } from './attempt';
import { findPendingEntries, toEntries, writeEntries } from './entries';
import type { KeyOutcome, ResumeDecision } from './key-state-machine';
import { Lease, type WrittenEntries } from './lease';
import { ResolutionError } from './resolution-error';
import { readStoredPayload } from './stored-payload';
import type { PriceListSubmission } from './submission-parser';

/** @throws ResolutionError key_unknown */
export async function requireKeyRecord(boqListId: string, db: Database, context: RequestContext): Promise<KeyRecord> {
  const record = await retry(() => readKeyRecord(db, boqListId), context);
  if (record === undefined) throw new ResolutionError('key_unknown', JSON.stringify(boqListId));
  return record;
}

/** Whom a resume tells how it goes. */
export interface ResumeObserver {
  onProgress?: (progress: WrittenEntries) => void;
  /** The attempt failed again. @param needsOperator the sweep does not resume it any more */
  onFailed?: (needsOperator: boolean) => void;
}

/**
 * Takes over an attempt that requires review: writes the entries that are missing or differ, makes both lists ready, and
 * stores the response. May be stopped anywhere and repeated; of two at the same time one is rejected.
 *
 * @returns the stored response, of this resume or of an earlier one
 * @throws ResolutionError, `payload_unusable` before anything is written; the error that failed the attempt
 */
export async function resume(
  record: KeyRecord,
  decision: ResumeDecision,
  db: Database,
  context: RequestContext,
  { onProgress, onFailed }: ResumeObserver = {},
): Promise<string> {
  const { boq_list_id, document_id } = record;
  const { info, products } = await readSubmission(record, db, context);

  const event = { kind: 'resumed', document_id, attempt: { owner: context.newToken() }, ...decision } as const;
  const taken = await applyEvent(boq_list_id, event, db, context);
  if (taken.kind !== 'owned') return requireResponse(taken);

  const attempt = taken.record;
  const lease = new Lease(attempt, db, context);
  let outcome: KeyOutcome;
  try {
    const entries = toEntries(products);
    const pending = await lease.run(() => findPendingEntries(attempt.creation, entries, lease, db));
    await writeEntries(attempt.creation, pending, lease, db, onProgress);
    outcome = await completeAttempt(attempt, info, lease, db, context);
  } catch (cause) {
    outcome = await failAttempt(attempt, cause, db, context);
    if (outcome.kind === 'failed') {
      onFailed?.(outcome.retryAfterMs === null);
      throw cause;
    }
  }
  return requireResponse(outcome);
}

/** The text of the payload is as large as the submission, so it is not held while the attempt goes on. */
async function readSubmission(record: KeyRecord, db: Database, context: RequestContext): Promise<PriceListSubmission> {
  const payload = await retry(() => readStoredPayload(db, record), context);
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  return payload.submission;
}

function requireResponse(outcome: KeyOutcome): string {
  if (outcome.kind === 'completed') return outcome.response;
  throw toResolutionError(outcome);
}

/** Converts what a key became in place of what was decided about it. */
export function toResolutionError(outcome: Exclude<KeyOutcome, { kind: 'completed' }>): ResolutionError {
  switch (outcome.kind) {
    case 'available':
      return new ResolutionError('key_released');
    case 'blocked':
      return new ResolutionError(outcome.by === 'review' ? 'key_in_review_again' : 'key_in_progress');
    case 'payload_mismatch':
    case 'failed':
    case 'owned':
      return new ResolutionError('key_resolved');
  }
}
