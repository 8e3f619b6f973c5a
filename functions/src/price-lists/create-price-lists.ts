import type { Database } from '../lib/firestore/database';
import type { PriceListLogger } from '../lib/logging';
import { measurePhase, type RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { completeAttempt, failAttempt } from './attempt';
import { claimKey, storeRemainingChunks } from './claim';
import { toEntries, writeEntries } from './entries';
import type { KeyOutcome } from './key-state-machine';
import { Lease } from './lease';
import { Payload } from './payload';
import { toCreationResult, type CreationResult } from './responses';
import type { PriceListSubmission } from './submission-parser';

/** What a creation tells the log. */
export interface CreationRequest {
  requestId: string;
  log: PriceListLogger;
}

/**
 * Creates both lists of a submission, exactly once for its key, in steps from which it can be resumed:
 *
 *     claimed      key record, request record with its payload, both list documents: one commit
 *     stored       the chunks of the payload that did not fit that commit
 *     written      every entry of both lists, in batches
 *     completed    both lists ready, the key completed, the response stored: one commit
 *
 * or, from any of them, failed: both lists failed, the key requires review: one commit. An error of a call does not say
 * whether it took effect, so every step may be repeated.
 *
 * @param context its signal aborts early enough for the attempt to be failed in the time reserved for that
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export async function createPriceLists(
  submission: PriceListSubmission,
  { requestId, log }: CreationRequest,
  db: Database,
  context: RequestContext,
): Promise<CreationResult> {
  const payload = new Payload(submission);
  const { counters } = context;
  const claimed = await measurePhase(counters, 'claim', () => claimKey(payload, requestId, db, context));
  if (claimed.kind !== 'owned') return toCreationResult(claimed);

  const attempt = claimed.record;
  log.claimed(attempt);
  const lease = new Lease(attempt, db, context);
  let outcome: KeyOutcome;
  let cause: unknown;
  try {
    await measurePhase(counters, 'entries', async () => {
      await storeRemainingChunks(attempt, payload, lease, db);
      await writeEntries(attempt.creation, toEntries(submission.products), lease, db);
    });
    const complete = () => completeAttempt(attempt, submission.info, lease, db, context);
    outcome = await measurePhase(counters, 'completion', complete);
  } catch (error) {
    cause = error;
    outcome = await failAttempt(attempt, error, db, context);
  }
  logOutcome(outcome, attempt, context.clock.now(), log);
  return toCreationResult(outcome, cause);
}

function logOutcome(outcome: KeyOutcome, attempt: KeyRecord, now: number, log: PriceListLogger): void {
  if (outcome.kind === 'failed') log.failed(attempt, outcome.reason, outcome.retryAfterMs === null);
  else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(attempt, now - attempt.claimed_at);
  else log.superseded(attempt, outcome.kind);
}
