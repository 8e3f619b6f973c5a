import { StoppedError } from '../src/lib/errors';
import type { Database } from '../src/lib/firestore/database';
import { retry } from '../src/lib/firestore/retry';
import { keyDocument } from '../src/lib/repositories/keys';
import type { KeyRecord } from '../src/lib/schemas/key-record';
import type { WorkContext } from '../src/lib/work-context';
import type { Progress } from '../src/price-lists/entries';
import type { KeyOutcome, OperatorDecision } from '../src/price-lists/key';
import { applyEvent } from '../src/price-lists/key-store';
import { takeOver } from '../src/price-lists/resume';

/** Resumes and releases keys for an operator. */

/** Why a key was not resumed or released. The command says what an operator can do about each. */
const MESSAGES = {
  key_in_progress: 'another attempt on the key is in progress',
  key_released: 'the key was released since it was read',
  key_resolved: 'the key was resolved since it was read',
  key_in_review_again: 'the key requires review again since it was read',
  lists_ready: 'the lists are ready: there is nothing to release',
} as const;

export type ResolutionErrorCode = keyof typeof MESSAGES;

export class ResolutionError extends Error {
  override readonly name = 'ResolutionError';

  constructor(readonly code: ResolutionErrorCode) {
    super(MESSAGES[code]);
  }
}

/**
 * Resumes an attempt that requires review, for an operator. Afterwards its lists, if any, are ready and the response is
 * stored. A resume can be stopped at any point and repeated. If two run at the same time, one is rejected.
 *
 * @param onProgress called as entries are written
 * @returns the stored response, even if another process completed the key
 * @throws ResolutionError; the error that ended the attempt, such as UnusablePayloadError
 */
export async function resume(
  record: KeyRecord,
  operator: OperatorDecision,
  db: Database,
  context: WorkContext,
  onProgress?: (progress: Progress) => void,
): Promise<string> {
  const key = { reference: keyDocument(db, record.boq_list_id), db, context };
  const { outcome, cause } = await takeOver(record, operator, key, onProgress);
  if (outcome.kind === 'completed') return outcome.response;
  if (outcome.kind !== 'failed' || cause === undefined) throw toResolutionError(outcome);
  if (!(cause instanceof StoppedError)) throw cause as Error;
  throw new StoppedError(`${cause.message}. The sweep resumes the attempt, or you can resume it again.`);
}

/**
 * Gives up an attempt that requires review, or that completed without lists. Any lists are `failed` afterwards, and the
 * next request for the key starts a new attempt. A release can be repeated.
 *
 * @throws ResolutionError
 */
export async function release(
  record: KeyRecord,
  operator: OperatorDecision,
  db: Database,
  context: WorkContext,
): Promise<void> {
  const key = { reference: keyDocument(db, record.boq_list_id), db, context };
  const event = { kind: 'release', attempt: record, operator } as const;
  const outcome = await retry(() => applyEvent(key, event), context, 'outage');
  if (outcome.kind === 'completed') throw new ResolutionError('lists_ready');
  if (outcome.kind !== 'released') throw toResolutionError(outcome);
}

function toResolutionError(outcome: KeyOutcome): ResolutionError {
  switch (outcome.kind) {
    case 'released':
    case 'payload_mismatch':
      return new ResolutionError('key_released');
    case 'owned':
    case 'in_progress':
      return new ResolutionError('key_in_progress');
    case 'in_review':
      return new ResolutionError('key_in_review_again');
    case 'completed':
    case 'failed':
      return new ResolutionError('key_resolved');
  }
}
