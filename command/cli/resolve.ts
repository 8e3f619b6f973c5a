import { StoppedError } from '../../functions/src/lib/errors';
import type { Database } from '../../functions/src/lib/firestore/database';
import { retry } from '../../functions/src/lib/firestore/retry';
import { keyDocument } from '../../functions/src/lib/repositories/keys';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import type { KeyOutcome, OperatorDecision } from '../../functions/src/price-lists/key';
import { applyEvent } from '../../functions/src/price-lists/key-store';
import { takeOver } from '../../functions/src/price-lists/resume';
import { CommandError } from './errors';

/** Resumes and releases keys for an operator. */

/** Why a key was not resumed or released, and what an operator can do. */
const MESSAGES = {
  key_in_progress: 'The attempt is in progress under another owner. Show the key to see how long its lease lasts.',
  key_deleted:
    'The key record was deleted after this command had read it. Run the audit, which names the documents that the attempt left.',
  key_released:
    'The key was released. The client can send the request again, unless another request has claimed the key.',
  key_in_review_again: 'The key changed after this command had read it. Show the key before you decide.',
  lists_ready: 'The lists of the key are ready, so there is nothing to release.',
} as const;

type ResolutionErrorCode = keyof typeof MESSAGES;

export class ResolutionError extends CommandError {
  constructor(readonly code: ResolutionErrorCode) {
    super(MESSAGES[code]);
  }
}

/** The error code of each outcome that the operator did not want. */
const CODES: Record<KeyOutcome['kind'], ResolutionErrorCode> = {
  deleted: 'key_deleted',
  released: 'key_released',
  payload_mismatch: 'key_released',
  owned: 'key_in_progress',
  in_progress: 'key_in_progress',
  in_review: 'key_in_review_again',
  completed: 'lists_ready',
  failed: 'key_in_review_again',
};

export type Completion = Pick<Extract<KeyOutcome, { kind: 'completed' }>, 'response' | 'isOwn'>;

/**
 * Resumes an attempt for an operator, if it requires review or its lease has expired. Afterwards its lists are ready
 * and the response is stored. A resume can be stopped at any point and repeated. Of two resumes that run at the same time,
 * only one can own the attempt.
 *
 * @returns the stored response. `isOwn` is false if another process completed the key, so this resume did nothing or was overtaken
 * @throws ResolutionError; the error that ended the try, such as UnusablePayloadError; as `takeOver` does
 */
export async function resume(record: KeyRecord, operator: OperatorDecision, db: Database): Promise<Completion> {
  const key = { reference: keyDocument(db, record.boq_list_id), db };
  const { outcome, cause } = await takeOver(record, operator, key);
  if (outcome.kind === 'completed') return outcome;
  if (outcome.kind !== 'failed' || cause === undefined) throw new ResolutionError(CODES[outcome.kind]);
  if (!(cause instanceof StoppedError)) throw cause as Error;
  throw new StoppedError(`${cause.message}. The sweep resumes the attempt, or you can resume it again.`);
}

/**
 * Gives up an attempt that requires review, has an expired lease, or completed without lists. Any lists are `failed`
 * afterwards, and the next request for the key starts a new attempt. A release can be repeated.
 *
 * @throws ResolutionError, or as `retry` does
 */
export async function release(record: KeyRecord, operator: OperatorDecision, db: Database): Promise<void> {
  const key = { reference: keyDocument(db, record.boq_list_id), db };
  const event = { kind: 'release', attempt: record, operator } as const;
  const outcome = await retry(() => applyEvent(key, event), db.context, 'outage');
  if (outcome.kind !== 'released') throw new ResolutionError(CODES[outcome.kind]);
}
