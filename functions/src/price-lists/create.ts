import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import type { PriceListLogger } from '../lib/logging/attempts';
import {
  newDocumentId,
  readKeyAndMarket,
  setListDocuments,
  setPayloadChunk,
  setRequestRecord,
} from '../lib/repositories/price-lists';
import { measurePhase, type RequestContext } from '../lib/request-context';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { ClaimedLists, KeyRecord } from '../lib/schemas/key-record';
import { MAX_TEXT_BYTES } from '../lib/schemas/fields';
import type { Market } from '../lib/schemas/responses';
import { PayloadNotStoredError, runAttempt, type AttemptEnd } from './attempt';
import { MAX_CLAIM_CHUNKS } from './commit-sizes';
import { toEntries } from './entries';
import { complete, createClaim, transition, type AttemptDraft, type KeyOutcome } from './key-state-machine';
import { KeyStore } from './key-store';
import type { Lease } from './lease';
import { FINGERPRINT_VERSION, Payload } from './payload';
import { createListDocuments, createSuccessResponse, requireCreated, type CreationResult } from './responses';
import type { PriceListSubmission } from './submission-parser';

/** What a creation tells the log. */
interface CreationRequest {
  requestId: string;
  log: PriceListLogger;
}

/**
 * Creates both lists of a submission, exactly once for its key: claims the key, then carries out
 * the attempt.
 *
 * @param context its signal aborts early enough for the attempt to be failed in the time reserved
 * for that
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export async function createPriceLists(
  submission: PriceListSubmission,
  request: CreationRequest,
  db: Database,
  context: RequestContext,
): Promise<CreationResult> {
  const { info, products } = submission;
  const payload = new Payload(submission);
  const keys = new KeyStore(info.boq_list_id, db, context, (record, reason) =>
    request.log.left({ ...record, reason }, context.clock.now() - record.claimed_at),
  );
  const claimed = await measurePhase(context.counters, 'claim', () => claim(payload, request, keys));
  if (claimed.kind !== 'owned') return requireCreated(claimed);

  const { log } = request;
  const attempt = claimed.record;
  log.claimed(attempt);
  const prepare = async (lease: Lease) => {
    await storeRemainingChunks(payload, lease);
    return toEntries(products);
  };
  const end = await runAttempt(attempt, { info, prepare }, keys);
  logEnd(end, attempt, context.clock.now(), log);
  return requireCreated(end.outcome, end.cause);
}

function logEnd({ outcome }: AttemptEnd, attempt: KeyRecord, now: number, log: PriceListLogger): void {
  if (outcome.kind === 'failed') log.failed(attempt, outcome.reason, outcome.retryAfterMs === null);
  else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(attempt, now - attempt.claimed_at);
  else log.superseded(attempt, outcome.kind);
}

/** An attempt without what its market and its compressed payload decide. */
type Claimant = Omit<AttemptDraft, 'creation' | 'payload_chunks'>;

/** Claims the key of a payload if it is available. @returns `owned` with the attempt, or what the key is */
async function claim(payload: Payload, request: CreationRequest, keys: KeyStore): Promise<KeyOutcome> {
  const { info, products } = payload.submission;
  // Made once, so that a repeated try recognizes its own claim.
  const claimant: Claimant = {
    owner: keys.context.newToken(),
    fingerprint: payload.fingerprint,
    fingerprint_version: FINGERPRINT_VERSION,
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newDocumentId(keys.db),
    trace_id: keys.context.traceId,
  };
  try {
    return await retry(() => tryClaim(payload, claimant, request, keys), keys.context, 'claim');
  } catch (cause) {
    // The claim may have taken effect. Its attempt would then block the key, so the record is read
    // first.
    const outcome = await keys.applyWithinReserve({ kind: 'expireIfLapsed', caller: claimant });
    if (outcome.kind === 'available') throw cause;
    return outcome;
  }
}

/** Claims in one try: one commit holds the key record, the request record, its payload and both lists. */
async function tryClaim(
  payload: Payload,
  claimant: Claimant,
  { requestId }: CreationRequest,
  keys: KeyStore,
): Promise<KeyOutcome> {
  const { info } = payload.submission;
  const { db } = keys;
  const now = keys.context.clock.now();
  const { key, market } = await readKeyAndMarket(db, info);
  const judged = transition(key.record, { kind: 'expireIfLapsed', caller: claimant }, now);
  if (judged.outcome.kind !== 'available') {
    await keys.commit(key, judged.record);
    return judged.outcome;
  }
  const chunks = await payload.getChunks();
  const creation = market && createClaimedLists(market, info, keys);
  const draft = { ...claimant, payload_chunks: chunks.length, creation };
  const claimed = createClaim(judged.record, info.boq_list_id, draft, now);
  // Without lists the attempt is over once its payload is stored.
  const isComplete = creation === null && chunks.length <= MAX_CLAIM_CHUNKS;
  const response = isComplete ? createSuccessResponse(claimed, info, now) : null;
  const record = response === null ? claimed : complete(claimed, response, now);
  await keys.commit(key, record, (writes) => {
    setRequestRecord(db, writes, record, info, requestId);
    for (const [i, data] of chunks.slice(0, MAX_CLAIM_CHUNKS).entries()) setPayloadChunk(db, writes, record, i, data);
    if (creation === null) return;
    setListDocuments(db, writes, creation, createListDocuments(record, creation, info, 'processing', now));
  });
  return response === null ? { kind: 'owned', record } : { kind: 'completed', response, isOwn: true };
}

const createClaimedLists = (market: Market, info: PriceListInfo, { db }: KeyStore): ClaimedLists => ({
  expected_forward_cost_id: newDocumentId(db),
  price_list_id: newDocumentId(db),
  market_name: nullIfTooLong(market.name),
  market_iso: nullIfTooLong(market.country_iso),
  currency: nullIfTooLong(market.currency_iso) ?? info.currency_iso,
});

/** A market's text as the list documents hold it: one longer than a text field may be counts as missing. */
const nullIfTooLong = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

/** Stores the chunks of the payload that did not fit the claim. @throws PayloadNotStoredError */
async function storeRemainingChunks(payload: Payload, lease: Lease): Promise<void> {
  const { attempt, keys } = lease;
  try {
    for (const [index, data] of (await payload.getChunks()).entries()) {
      if (index < MAX_CLAIM_CHUNKS) continue;
      await lease.run(() => keys.db.commit((writes) => setPayloadChunk(keys.db, writes, attempt, index, data)));
    }
  } catch (cause) {
    throw new PayloadNotStoredError(cause);
  }
}
