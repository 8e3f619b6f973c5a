import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import type { PriceListLogger } from '../lib/logging/attempts';
import {
  keyDocument,
  newDocumentId,
  readKeyAndMarket,
  setListDocuments,
  setPayloadChunk,
  setRequestRecord,
} from '../lib/repositories/price-lists';
import { measurePhase, type WorkContext } from '../lib/work-context';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { ClaimedLists, KeyRecord } from '../lib/schemas/key-record';
import { MAX_TEXT_BYTES } from '../lib/schemas/fields';
import type { Market } from '../lib/schemas/responses';
import { PayloadNotStoredError, runAttempt, type AttemptOutcome } from './attempt';
import { toCreationResult, type CreationResult } from './creation-result';
import { getAllEntries } from './entries';
import type { AttemptDraft } from './key-state-machine';
import { KeyStore, type AppliedOutcome } from './key-store';
import { MAX_CLAIM_CHUNKS, Payload } from './payload';
import { RunningAttempt } from './running-attempt';
import { createListDocuments } from './stored-documents';
import type { PriceListSubmission } from './submission-parser';

interface CreationRequest {
  requestId: string;
  apiKeyId: string;
  log: PriceListLogger;
}

/**
 * Creates both lists of a submission exactly once for its key, if the market exists.
 *
 * @param context its signal aborts early enough to leave the time reserved for failing the attempt
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed; the
 * error of a claim that had no effect, or of the read that checks whether it had one
 */
export async function createPriceLists(
  submission: PriceListSubmission,
  request: CreationRequest,
  db: Database,
  context: WorkContext,
): Promise<CreationResult> {
  const payload = new Payload(submission);
  const keys = new KeyStore(keyDocument(db, submission.info.boq_list_id), db, context);
  const claimed = await measurePhase(context.counters, 'claim', () => claim(payload, request, keys));
  const { log } = request;
  if (claimed.kind !== 'owned') {
    if (claimed.kind === 'completed' && claimed.isOwn) log.completed(claimed.record);
    return toCreationResult(claimed);
  }

  log.claimed(claimed.record);
  const attempt = new RunningAttempt(claimed, keys, 'attempt');
  const { outcome, cause } = await runAttempt(attempt, async () => {
    await storeRemainingChunks(payload, attempt);
    return { submission, pending: getAllEntries(submission.products) };
  });
  logOutcome(outcome, claimed.record, log);
  return toCreationResult(outcome, cause);
}

function logOutcome(outcome: AttemptOutcome, attempt: KeyRecord, log: PriceListLogger): void {
  if (outcome.kind === 'failed') log.failed(attempt, outcome.reason, outcome.retryAfterMs === null);
  else if (outcome.kind === 'unknown') log.failed(attempt, outcome.reason, false);
  else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(outcome.record);
  else log.superseded(attempt, outcome.kind);
}

type NewAttempt = Omit<AttemptDraft, 'lists' | 'payload_chunks'>;

/** Claims the key of a payload if it is available. @returns `owned` with the attempt, or the state of the key */
async function claim(payload: Payload, request: CreationRequest, keys: KeyStore): Promise<AppliedOutcome> {
  const { info, products } = payload.submission;
  // Created once, so a repeated try recognizes its own claim.
  const newAttempt: NewAttempt = {
    owner: keys.context.newToken(),
    fingerprint: payload.fingerprint,
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newDocumentId(keys.db),
    trace_id: keys.context.traceId,
    key_id: request.apiKeyId,
  };
  try {
    return await retry(() => tryClaim(payload, newAttempt, request, keys), keys.context, 'claim');
  } catch (cause) {
    // The claim can have taken effect, and its attempt would then block the key. So the error is thrown only
    // if a read shows that the key is still available.
    const outcome = await keys.applyWithinReserve({ kind: 'expire', caller: newAttempt });
    if (outcome.kind === 'available') throw cause;
    return outcome;
  }
}

/** Tries once to claim the key. One commit stores its record, the request record, the first chunks and any list documents. */
async function tryClaim(
  payload: Payload,
  newAttempt: NewAttempt,
  { requestId }: CreationRequest,
  keys: KeyStore,
): Promise<AppliedOutcome> {
  const { info } = payload.submission;
  const { db, reference } = keys;
  const startedAt = keys.context.clock.elapsedMs();
  const { key, market } = await readKeyAndMarket(db, reference, info.market_id);
  // A replay returns here, before the payload is compressed.
  const found = await keys.applyTo(key, startedAt, { kind: 'expire', caller: newAttempt });
  if (found.kind !== 'available') return found;
  const chunks = await payload.getChunks();
  const lists = market && createClaimedLists(market, info, keys);
  const attempt: AttemptDraft = { ...newAttempt, payload_chunks: chunks.length, lists };
  const isStored = chunks.length <= MAX_CLAIM_CHUNKS;
  return keys.applyTo(key, startedAt, { kind: 'claim', attempt, info, isStored }, (writes, record) => {
    setRequestRecord(db, writes, record, info, requestId);
    for (const [i, data] of chunks.slice(0, MAX_CLAIM_CHUNKS).entries()) setPayloadChunk(db, writes, record, i, data);
    if (lists === null) return;
    setListDocuments(db, writes, lists, createListDocuments(record, lists, info, 'processing', record.claimed_at));
  });
}

function createClaimedLists(market: Market, info: PriceListInfo, { db }: KeyStore): ClaimedLists {
  const currency = nullIfTooLong(market.currency_iso) ?? info.currency_iso;
  return {
    expected_forward_cost_id: newDocumentId(db),
    price_list_id: newDocumentId(db),
    market_name: nullIfTooLong(market.name),
    market_iso: nullIfTooLong(market.country_iso),
    currency,
    currency_differs: currency !== info.currency_iso,
  };
}

/** Treats a text of a market that is too long for a text field as missing. */
const nullIfTooLong = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

/** Stores the chunks of the payload that did not fit into the claim. @throws PayloadNotStoredError */
async function storeRemainingChunks(payload: Payload, attempt: RunningAttempt): Promise<void> {
  const { record, keys } = attempt;
  try {
    for (const [index, data] of (await payload.getChunks()).entries()) {
      if (index < MAX_CLAIM_CHUNKS) continue;
      await attempt.call(() => keys.db.commit((writes) => setPayloadChunk(keys.db, writes, record, index, data)));
    }
  } catch (cause) {
    throw new PayloadNotStoredError(cause);
  }
}
