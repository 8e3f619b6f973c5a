import { ApiError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import type { PriceListLogger } from '../lib/logging/price-lists';
import { keyDocument, readKeyAndMarket } from '../lib/repositories/keys';
import type { ListIds } from '../lib/repositories/lists';
import { createRequest, newDocumentId } from '../lib/repositories/request-records';
import type { PriceListSubmission } from '../lib/schemas/add-price-lists';
import { MAX_TEXT_BYTES } from '../lib/schemas/fields';
import { listInfoSchema } from '../lib/schemas/info';
import { type Claim, type KeyLists, type KeyRecord } from '../lib/schemas/key-record';
import { type MarketFacts } from '../lib/market-facts';
import { getMarketFacts } from '../lib/market-facts';
import type { Market } from '../lib/schemas/responses';
import { measurePhase } from '../lib/work-context';
import { Attempt, runAttempt } from './attempt';
import type { KeyOutcome } from './key';
import { decide, setRecord, type KeyStore } from './key-store';
import { compressToChunks, computeFingerprint } from './payload';
import type { Recovery } from './schedule';

export interface CreationRequest {
  requestId: string;
  apiKeyId: string;
  log: PriceListLogger;
}

export interface CreationResult {
  response: string;
  replayed: boolean;
  facts: MarketFacts;
}

/**
 * Creates both lists of a submission, if the market exists. If the key is already completed with the same payload,
 * returns the stored response instead.
 *
 * @param db its signal aborts early enough to leave the time reserved for failing the attempt
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed, payload_too_large,
 * internal_error; as `retry` does if the claim fails. A failed claim may have taken effect. If so, the sweep resumes its
 * attempt, or the attempt is complete because no market matched.
 */
export async function createPriceLists(
  submission: PriceListSubmission,
  request: CreationRequest,
  db: Database,
): Promise<CreationResult> {
  const { log } = request;
  const { context } = db;
  const key: KeyStore = { reference: keyDocument(db, submission.info.boq_list_id), db };
  const draft = draftClaim(submission, request, db);
  const tryToClaim = () => claimKey(key, draft, submission, request.requestId);
  const claimed = await measurePhase(context.counters, 'claim', () => retry(tryToClaim, context, 'outage'));
  if (claimed.kind !== 'owned') {
    if (claimed.kind === 'completed' && claimed.isOwn) log.completed(claimed.record);
    return toResult(claimed);
  }
  log.claimed(claimed.record);
  const { outcome, cause } = await runAttempt(new Attempt(claimed, key, 'attempt'), submission.products);
  logOutcome(outcome, claimed.record, log);
  return toResult(outcome, cause);
}

/** A claim before {@link claimKey} has read the market. */
type ClaimDraft = Omit<Claim, 'lists'> & { listIds: ListIds };

/** A retry of the claim uses the same ids and owner token, so it recognises a claim that has taken effect. */
function draftClaim({ info, products }: PriceListSubmission, { apiKeyId }: CreationRequest, db: Database): ClaimDraft {
  return {
    ...listInfoSchema.parse(info),
    boq_list_id: info.boq_list_id,
    owner: db.context.newToken(),
    fingerprint: computeFingerprint({ info, products }),
    products_count: products.ids.length,
    document_id: newDocumentId(db),
    listIds: { expected_forward_cost_id: newDocumentId(db), price_list_id: newDocumentId(db) },
    trace_id: db.context.traceId,
    key_id: apiKeyId,
  };
}

/**
 * Claims a key, without retries. If the key is free, one commit stores the key record, the request record, the payload and,
 * for an existing market, both list documents.
 */
async function claimKey(
  key: KeyStore,
  { listIds, ...draft }: ClaimDraft,
  submission: PriceListSubmission,
  requestId: string,
): Promise<KeyOutcome> {
  const { db } = key;
  const { info } = submission;
  const startedAt = db.context.clock.elapsedMs();
  const { key: found, market } = await readKeyAndMarket(db, key.reference, info.market_id);
  const claim: Claim = { ...draft, lists: market && { ...listIds, ...toListFacts(market, info.currency_iso) } };
  const { record, lists, outcome } = decide(found, { kind: 'claim', claim }, startedAt);
  if (record === undefined) return outcome;
  // Compresses the payload only now, because a replay needs no chunks.
  const chunks = await compressToChunks(submission, db.context.sizes.chunkBytes);
  await db.commit((writes) => {
    setRecord(writes, db, found, record, lists);
    createRequest(db, writes, record, { info, requestId, chunks });
  });
  return outcome;
}

function toListFacts(market: Market, requestedCurrency: string) {
  const currency = nullIfTooLong(market.currency_iso) ?? requestedCurrency;
  return {
    market_name: nullIfTooLong(market.name),
    market_iso: nullIfTooLong(market.country_iso),
    currency,
    currency_differs: currency !== requestedCurrency,
  } satisfies Omit<KeyLists, 'expected_forward_cost_id' | 'price_list_id'>;
}

/** Treats a market's text as missing if it is longer than a text field allows. */
const nullIfTooLong = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

function logOutcome(outcome: KeyOutcome, attempt: KeyRecord, log: PriceListLogger): void {
  if (outcome.kind === 'failed') log.failed(attempt, outcome.reason, outcome.recovery.kind === 'operator');
  else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(outcome.record);
  else log.superseded(attempt, outcome.kind);
}

/** @param cause the error that ended the request's own try. @throws ApiError */
function toResult(outcome: KeyOutcome, cause?: unknown): CreationResult {
  switch (outcome.kind) {
    case 'completed':
      return { response: outcome.response, replayed: !outcome.isOwn, facts: getMarketFacts(outcome.record) };
    case 'payload_mismatch':
      throw new ApiError('idempotency_key_reused', 'the key belongs to another payload', { cause });
    case 'in_progress': {
      const { retryAfterMs } = outcome;
      throw new ApiError('request_in_progress', 'an attempt on the key is in progress', { cause, retryAfterMs });
    }
    case 'in_review':
      throw new ApiError(
        'review_required',
        'the key requires review, its lease has expired, or its record is unreadable',
        {
          cause,
          ...toAdvice(outcome.recovery),
        },
      );
    case 'released':
      throw new ApiError('review_required', 'an operator released the attempt', { cause });
    case 'deleted':
      throw new ApiError('internal_error', 'someone deleted the key record during the attempt', { cause });
    case 'failed':
      throw new ApiError('creation_failed', outcome.reason, { cause, ...toAdvice(outcome.recovery) });
    case 'owned':
      throw new ApiError('creation_failed', 'the attempt neither completed nor failed', { cause });
  }
}

const toAdvice = (recovery: Recovery) =>
  recovery.kind === 'operator' ? { needsOperator: true } : { retryAfterMs: recovery.retryAfterMs };
