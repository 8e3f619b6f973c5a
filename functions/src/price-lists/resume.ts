import type { CommitWrites, Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { setListDocuments } from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { runAttempt, type AttemptEnd } from './attempt';
import { findPendingEntries, toEntries } from './entries';
import type { KeyOutcome, OperatorDecision, ResumeDecision } from './key-state-machine';
import { KeyStore } from './key-store';
import type { Lease, WrittenEntries } from './lease';
import { readStoredPayload } from './payload';
import { createListDocuments } from './responses';
import type { PriceListSubmission } from './submission-parser';

/** Why a key was not resumed or released. The command tells an operator what to do about each. */
const MESSAGES = {
  key_in_progress: 'another attempt on the key is in progress',
  key_released: 'the key was released meanwhile',
  key_resolved: 'the key was resolved meanwhile',
  key_in_review_again: 'the key requires review again since it was read',
  lists_ready: 'the lists are ready: there is nothing to release',
  payload_unusable: 'the stored payload cannot be used, so the attempt can only be released',
} as const;

export type ResolutionErrorCode = keyof typeof MESSAGES;

export class ResolutionError extends Error {
  override readonly name = 'ResolutionError';

  /** @param detail what is wrong with the payload */
  constructor(
    readonly code: ResolutionErrorCode,
    readonly detail?: string,
  ) {
    super(detail === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${detail}`);
  }
}

/**
 * Resumes an attempt that requires review, for an operator: both lists are ready then, and the
 * response is stored. May be stopped anywhere and repeated; of two at the same time one is
 * rejected.
 *
 * @param onProgress called as entries are written
 * @returns the stored response, of this resume or of an earlier one
 * @throws ResolutionError, `payload_unusable` before anything is written; the error that failed the
 * attempt
 */
export async function resume(
  record: KeyRecord,
  decision: OperatorDecision,
  db: Database,
  context: RequestContext,
  onProgress?: (progress: WrittenEntries) => void,
): Promise<string> {
  const { outcome, cause } = await takeOver(record, { ...decision, isAutomatic: false }, db, context, onProgress);
  if (outcome.kind === 'completed') return outcome.response;
  throw outcome.kind === 'failed' ? cause : toResolutionError(outcome);
}

/**
 * Takes over an attempt that requires review, and carries it out: writes the entries that are
 * missing or differ, and completes it.
 *
 * @returns how the attempt ended, or what its key is in place of one to take over
 * @throws ResolutionError payload_unusable, before anything is written
 */
export async function takeOver(
  record: KeyRecord,
  decision: ResumeDecision,
  db: Database,
  context: RequestContext,
  onProgress?: (progress: WrittenEntries) => void,
): Promise<AttemptEnd> {
  const { boq_list_id, document_id, creation } = record;
  const { info, products } = await readSubmission(record, db, context);

  const keys = new KeyStore(boq_list_id, db, context);
  const attempt = { owner: context.newToken() };
  const addLists = (writes: CommitWrites) => {
    // As they are, in case somebody deleted one of them.
    if (creation === null) return;
    setListDocuments(db, writes, creation, createListDocuments(record, creation, info, 'failed', record.updated_at));
  };
  const taken = await keys
    .apply({ kind: 'resumed', document_id, attempt, ...decision }, addLists)
    .catch((cause: unknown) => findTaken(attempt, cause, keys));
  if (taken.kind !== 'owned') return { outcome: taken };

  const prepare = (lease: Lease) => lease.run(() => findPendingEntries(toEntries(products), lease));
  return runAttempt(taken.record, { info, prepare, onProgress }, keys);
}

/** The take-over may have taken effect. Its attempt would then block the key, so the record is read first. */
async function findTaken(attempt: Pick<KeyRecord, 'owner'>, cause: unknown, keys: KeyStore): Promise<KeyOutcome> {
  const found = await keys.applyWithinReserve({ kind: 'expireIfLapsed', caller: attempt });
  if (found.kind !== 'owned') throw cause;
  return found;
}

async function readSubmission(record: KeyRecord, db: Database, context: RequestContext): Promise<PriceListSubmission> {
  const payload = await retry(() => readStoredPayload(db, record), context, 'standalone');
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  return payload.submission;
}

/**
 * Gives up an attempt: its lists stay failed, and the next request for its key is a new attempt.
 * May be repeated.
 *
 * @throws ResolutionError
 */
export async function release(
  { boq_list_id, document_id }: KeyRecord,
  decision: OperatorDecision,
  db: Database,
  context: RequestContext,
): Promise<void> {
  const outcome = await new KeyStore(boq_list_id, db, context).apply({ kind: 'released', document_id, ...decision });
  if (outcome.kind === 'completed') throw new ResolutionError('lists_ready');
  if (outcome.kind !== 'available') throw toResolutionError(outcome);
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
