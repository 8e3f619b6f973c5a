import type { CommitWrites, Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import {
  newDocumentId,
  readKeyAndMarket,
  setListDocuments,
  setPayloadChunk,
  setRequestRecord,
} from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation, KeyRecord } from '../lib/schemas/key-record';
import { MAX_TEXT_BYTES } from '../lib/schemas/requests';
import type { Market } from '../lib/schemas/responses';
import { applyFinalEvent, commitEvent } from './apply-event';
import { PayloadNotStoredError } from './attempt';
import { MAX_CLAIM_CHUNKS } from './commit-sizes';
import { canClaim, type KeyOutcome, type SubmittedAttempt } from './key-state-machine';
import type { Lease } from './lease';
import { createListDocuments } from './list-documents';
import { FINGERPRINT_VERSION, type Payload } from './payload';
import { createSuccessResponse } from './responses';

/** An attempt without what its market and its compressed payload decide. */
type AttemptDraft = Omit<SubmittedAttempt, 'creation' | 'payload_chunks'>;

/** Claims the key of a payload if it is available. @returns `owned` with the attempt, or what the key is */
export async function claimKey(
  payload: Payload,
  requestId: string,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  const { info, products } = payload.submission;
  // Made once, so that a repeated try recognizes its own claim.
  const draft: AttemptDraft = {
    owner: context.newToken(),
    fingerprint: payload.fingerprint,
    fingerprint_version: FINGERPRINT_VERSION,
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newDocumentId(db),
    trace_id: context.traceId,
  };
  try {
    return await retry(() => tryClaim(payload, draft, requestId, db, context), context);
  } catch (cause) {
    // The claim may have taken effect. Its attempt would then block the key, so the record is read first.
    const outcome = await applyFinalEvent(info.boq_list_id, { kind: 'leaseChecked', caller: draft }, db, context);
    if (outcome.kind === 'available') throw cause;
    return outcome;
  }
}

/** Claims in one try: one commit holds the key record, the request record, its payload and both lists. */
async function tryClaim(
  payload: Payload,
  draft: AttemptDraft,
  requestId: string,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  const { info } = payload.submission;
  const now = context.clock.now();
  const { key, market } = await readKeyAndMarket(db, info);
  if (!canClaim(key.record, draft, now)) {
    return commitEvent(key, { kind: 'leaseChecked', caller: draft }, now, db, context);
  }
  const chunks = await payload.getChunks();
  const creation = market && createCreation(market, info, db);
  const attempt = { ...draft, payload_chunks: chunks.length, creation };
  const isComplete = creation === null && chunks.length <= MAX_CLAIM_CHUNKS;
  const response = isComplete ? createSuccessResponse({ ...attempt, claimed_at: now }, info, now) : null;
  const addWrites = (writes: CommitWrites, record: KeyRecord) => {
    setRequestRecord(db, writes, record, info, requestId);
    for (const [i, data] of chunks.slice(0, MAX_CLAIM_CHUNKS).entries()) setPayloadChunk(db, writes, record, i, data);
    if (creation === null) return;
    setListDocuments(db, writes, creation, createListDocuments(record, creation, info, 'processing', now));
  };
  const event = { kind: 'submitted', boqListId: info.boq_list_id, attempt, response } as const;
  return commitEvent(key, event, now, db, context, addWrites);
}

const createCreation = (market: Market, info: PriceListInfo, db: Database): Creation => ({
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
export async function storeRemainingChunks(
  attempt: Attempt,
  payload: Payload,
  lease: Lease,
  db: Database,
): Promise<void> {
  try {
    for (const [index, data] of (await payload.getChunks()).entries()) {
      if (index < MAX_CLAIM_CHUNKS) continue;
      await lease.run(() => db.commit((writes) => setPayloadChunk(db, writes, attempt, index, data)));
    }
  } catch (cause) {
    throw new PayloadNotStoredError(cause);
  }
}
