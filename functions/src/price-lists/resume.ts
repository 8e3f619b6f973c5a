import { StoppedError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { keyDocument } from '../lib/repositories/price-lists';
import type { WorkContext } from '../lib/work-context';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';
import { runAttempt, type AttemptOutcome } from './attempt';
import { findPendingEntries } from './entries';
import type { KeyEvent, OperatorDecision, ResumeDecision } from './key-state-machine';
import { KeyStore, type AppliedOutcome } from './key-store';
import { readStoredPayload } from './payload';
import { RunningAttempt } from './running-attempt';
import type { PriceListSubmission } from './submission-parser';

/** Why a key was not resumed or released. The command says what an operator can do about each. */
const MESSAGES = {
  key_in_progress: 'another attempt on the key is in progress',
  key_released: 'the key was released since it was read',
  key_resolved: 'the key was resolved since it was read',
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
 * Resumes an attempt that requires review, for an operator. Afterwards its lists, if any, are ready and the
 * response is stored. A resume can be stopped at any point and repeated. If two run at the same
 * time, one is rejected.
 *
 * @param onProgress called as entries are written
 * @returns the stored response, even if another process completed the key
 * @throws ResolutionError, which for an unusable payload comes before any write; the error that ended the attempt
 */
export async function resume(
  record: KeyRecord,
  decision: OperatorDecision,
  db: Database,
  context: WorkContext,
  onProgress?: (progress: Progress) => void,
): Promise<string> {
  const submission = await retry(() => readSubmission(record, db), context, 'outage');
  const keys = new KeyStore(keyDocument(db, record.boq_list_id), db, context);
  const { outcome, cause } = await takeOver(record, { ...decision, isAutomatic: false }, keys, submission, onProgress);
  if (outcome.kind === 'completed') return outcome.response;
  if (outcome.kind === 'failed' && cause instanceof StoppedError) {
    const next = outcome.retryAfterMs === null ? 'It needs an operator.' : 'The sweep resumes it.';
    throw new StoppedError(
      `${cause.message}. The key is as it was before. It failed earlier: ${outcome.reason}. ${next}`,
    );
  }
  throw outcome.kind === 'failed' || outcome.kind === 'unknown' ? cause : toResolutionError(outcome);
}

/**
 * Takes over an attempt that requires review, and carries it out: reads its payload, writes the
 * entries that are missing or differ, and completes it. An error after the take-over, even while the
 * payload is read, fails the attempt. A stop undoes the take-over.
 *
 * @param submission the payload of the attempt, if it has been read already
 * @returns as `runAttempt` does, or the state of the key if it could not be taken over
 */
export async function takeOver(
  { document_id }: KeyRecord,
  decision: ResumeDecision,
  keys: KeyStore,
  submission?: PriceListSubmission,
  onProgress?: (progress: Progress) => void,
): ReturnType<typeof runAttempt> {
  const attempt = { owner: keys.context.newToken() };
  const taken = await applyResume({ kind: 'resume', document_id, attempt, ...decision }, keys);
  if (taken.kind !== 'owned') return { outcome: taken };

  return runAttempt(new RunningAttempt(taken, keys, 'outage', onProgress), async (attempt) => {
    const found = submission ?? (await attempt.call(() => readSubmission(attempt.record, keys.db)));
    return { submission: found, pending: await findPendingEntries(found.products, attempt) };
  });
}

async function applyResume(event: Extract<KeyEvent, { kind: 'resume' }>, keys: KeyStore): Promise<AppliedOutcome> {
  try {
    return await retry(() => keys.apply(event), keys.context, 'outage');
  } catch (cause) {
    // The take-over can have taken effect, and its attempt would then block the key. So the error is thrown
    // only if a read shows that this resume does not own the key.
    const outcome = await keys.applyWithinReserve({ kind: 'expire', caller: event.attempt });
    if (outcome.kind !== 'owned') throw cause;
    return outcome;
  }
}

async function readSubmission(record: KeyRecord, db: Database): Promise<PriceListSubmission> {
  const payload = await readStoredPayload(db, record);
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  return payload.submission;
}

/**
 * Gives up an attempt that requires review, or that completed without lists. Any lists are `failed` afterwards, and the
 * next request for the key starts a new attempt. A release can be repeated.
 *
 * @throws ResolutionError
 */
export async function release(
  { boq_list_id, document_id }: KeyRecord,
  decision: OperatorDecision,
  db: Database,
  context: WorkContext,
): Promise<void> {
  const keys = new KeyStore(keyDocument(db, boq_list_id), db, context);
  const outcome = await retry(() => keys.apply({ kind: 'release', document_id, ...decision }), context, 'outage');
  if (outcome.kind === 'completed') throw new ResolutionError('lists_ready');
  if (outcome.kind !== 'released') throw toResolutionError(outcome);
}

export function toResolutionError(outcome: AttemptOutcome): ResolutionError {
  switch (outcome.kind) {
    case 'released':
    case 'available':
      return new ResolutionError('key_released');
    case 'blocked':
      return new ResolutionError(outcome.by === 'review' ? 'key_in_review_again' : 'key_in_progress');
    case 'completed':
    case 'payload_mismatch':
    case 'failed':
    case 'unknown':
    case 'owned':
      return new ResolutionError('key_resolved');
  }
}
