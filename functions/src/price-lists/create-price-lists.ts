import { ApiError } from '../lib/errors';
import type { PriceListLogger } from '../lib/logging';
import type { Database } from '../lib/firestore/database';
import { newDocumentId, setPayloadChunk, toEntries } from '../lib/repositories/price-lists';
import { retry } from '../lib/firestore/retry';
import type { PriceListSubmission } from '../lib/schemas/add-price-lists';
import type { KeyRecord } from '../lib/schemas/key-record';
import { commitClaim, MAX_CLAIM_CHUNKS, takeLastStep } from './key-steps';
import type { KeyOutcome } from './key-state-machine';
import { compressToChunks, computeFingerprint } from './payload';
import { runAttempt, writePendingEntries } from './run-attempt';

/**
 * The creation of both lists of a submission, in steps from which it can be resumed:
 *
 *     claimed      key record, request record with its payload, both list documents: one commit
 *     stored       the chunks of the payload that did not fit that commit
 *     written      every entry of both lists, in batches
 *     completed    both lists ready, the key completed, the response stored: one commit
 *
 * or, from any of them, failed: both lists failed, the key requires review: one commit. An error of a call does not say
 * whether it took effect, so every step may be repeated, and each repetition begins by reading the key record.
 */

/** What a creation depends on besides its submission. */
export interface CreationContext {
  /** Its signal aborts when the attempt has to stop, early enough for it to be failed in the time reserved for that. */
  db: Database;
  /** Creates a token that no other attempt ever had. */
  newToken: () => string;
  requestId: string;
  log: PriceListLogger;
}

/** The stored response, of this request's attempt or of an earlier one for an identical request. */
export interface CreationResult {
  response: string;
  replayed: boolean;
}

/**
 * Creates both lists of a submission, exactly once for its key.
 *
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export async function createPriceLists(
  submission: PriceListSubmission,
  context: CreationContext,
): Promise<CreationResult> {
  let payload: Promise<Buffer[]> | undefined;
  const loadPayload = () => (payload ??= compressToChunks(submission));
  const claimed = await claimKey(submission, loadPayload, context);
  if (claimed.kind !== 'owned') return toResult(claimed);

  const { db, log } = context;
  const { info, products } = submission;
  const attempt = claimed.record;
  log.claimed(attempt);
  const { outcome, cause } = await runAttempt(attempt, info, db, async (lease) => {
    for (const [index, data] of (await loadPayload()).entries()) {
      if (index < MAX_CLAIM_CHUNKS) continue;
      await lease.run(() => db.commit((writes) => setPayloadChunk(db, writes, attempt, index, data)));
    }
    const { creation } = attempt;
    if (creation !== null) await writePendingEntries(toEntries(products), creation, lease, db);
  });
  logOutcome(outcome, attempt, log);
  // Whatever became of the key meanwhile, its payload was this one: a mismatch would mislead the client.
  return toResult(outcome.kind === 'payload_mismatch' ? { kind: 'blocked', retryAfterMs: null } : outcome, cause);
}

async function claimKey(
  submission: PriceListSubmission,
  loadPayload: () => Promise<Buffer[]>,
  { db, newToken, requestId }: CreationContext,
): Promise<KeyOutcome> {
  const { info, products } = submission;
  const attemptDraft = {
    owner: newToken(),
    fingerprint: computeFingerprint(submission),
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newDocumentId(db),
  };
  try {
    return await retry(() => commitClaim(db, info, attemptDraft, requestId, loadPayload), db);
  } catch (cause) {
    // The claim may have taken effect. Its attempt would then block the key, so the record is read first.
    const event = { kind: 'inspected', attempt: attemptDraft } as const;
    const outcome = await takeLastStep(db, info.boq_list_id, event);
    if (outcome.kind === 'available') throw cause;
    return outcome;
  }
}

function logOutcome(outcome: KeyOutcome, attempt: KeyRecord, log: PriceListLogger): void {
  if (outcome.kind === 'failed') log.failed(attempt, outcome.reason);
  else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(attempt);
  else log.superseded(attempt, outcome.kind);
}

function toResult(outcome: KeyOutcome, cause?: unknown): CreationResult {
  switch (outcome.kind) {
    case 'completed':
      return { response: outcome.response, replayed: !outcome.isOwn };
    case 'payload_mismatch':
      throw new ApiError('idempotency_key_reused', 'another payload holds the key', { cause });
    case 'blocked': {
      if (outcome.retryAfterMs === null) throw new ApiError('review_required', 'the key requires review', { cause });
      const headers = { 'Retry-After': String(Math.ceil(outcome.retryAfterMs / 1000)) };
      throw new ApiError('request_in_progress', 'an attempt on the key is in progress', { cause, headers });
    }
    case 'available':
      throw new ApiError('review_required', 'an operator released the key meanwhile', { cause });
    case 'failed':
    case 'owned':
      throw new ApiError('creation_failed', 'the attempt failed', { cause });
  }
}
