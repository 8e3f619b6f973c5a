import type { CommitWrites, Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { FAILURE_RESERVE_MS } from '../lib/runtime-options';
import {
  newDocumentId,
  readKey,
  readKeyAndMarket,
  setKey,
  setListDocuments,
  setListStatuses,
  setPayloadChunk,
  setRequestRecord,
  type KeySnapshot,
} from '../lib/repositories/price-lists';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { KeyRecord } from '../lib/schemas/key-record';
import { MAX_TEXT_BYTES } from '../lib/schemas/requests';
import { transition, type KeyEvent, type KeyOutcome, type SubmittedAttempt } from './key-state-machine';
import { createListDocuments } from './list-documents';

/**
 * The steps of a key. Each reads the key record, applies an event, and commits what follows in one commit, on the
 * precondition that the record is unchanged since the read; see docs/decisions/0008-conditional-commits.md.
 *
 * Each may be tried again: the id of an attempt and its owner token are created outside, and a repeated try recognizes by
 * the token what an earlier one wrote, such as the ids of the lists.
 */

/** Chunks of the payload in the claim's commit. Firestore's limit is 10 MiB, and for the key record among it 1 MiB. */
export const MAX_CLAIM_CHUNKS = 9;

/**
 * Claims the key if it is available, in one try; one commit holds the key record, the request record, its payload and both lists.
 *
 * @param attemptDraft the attempt without what its market and its payload decide
 * @param loadPayload called only if the key is available
 */
export async function commitClaim(
  db: Database,
  info: PriceListInfo,
  attemptDraft: Omit<SubmittedAttempt, 'creation' | 'payload_chunks'>,
  requestId: string,
  loadPayload: () => Promise<readonly Buffer[]>,
): Promise<KeyOutcome> {
  const now = db.clock.now();
  const { key, market } = await readKeyAndMarket(db, info);
  const inspected = await commitTransition(db, key, { kind: 'inspected', attempt: attemptDraft }, now);
  if (inspected.kind !== 'available') return inspected;

  const chunks = await loadPayload();
  const creation = market && {
    expected_forward_cost_id: newDocumentId(db),
    price_list_id: newDocumentId(db),
    market_name: nullIfTooLong(market.name),
    market_iso: nullIfTooLong(market.country_iso),
    currency: nullIfTooLong(market.currency_iso) ?? info.currency_iso,
  };
  const attempt = { ...attemptDraft, payload_chunks: chunks.length, creation };
  const isComplete = creation === null && chunks.length <= MAX_CLAIM_CHUNKS;
  return commitTransition(db, key, { kind: 'submitted', info, attempt, isComplete }, now, (writes, record) => {
    setRequestRecord(db, writes, record, info, requestId);
    for (const [i, data] of chunks.slice(0, MAX_CLAIM_CHUNKS).entries()) setPayloadChunk(db, writes, record, i, data);
    if (creation === null) return;
    setListDocuments(db, writes, creation, createListDocuments(record, creation, info, 'processing', now));
  });
}

/** Takes one step of a key, and tries again after a transient error. */
export const takeStep = (db: Database, boqListId: string, event: KeyEvent): Promise<KeyOutcome> =>
  retry(() => tryStep(db, boqListId, event), db);

/** The same in the time reserved for it, whatever is left of the attempt's own. */
export const takeLastStep = (db: Database, boqListId: string, event: KeyEvent): Promise<KeyOutcome> =>
  takeStep({ ...db, signal: AbortSignal.timeout(FAILURE_RESERVE_MS) }, boqListId, event);

/** One try of a step. */
export async function tryStep(db: Database, boqListId: string, event: KeyEvent): Promise<KeyOutcome> {
  const now = db.clock.now();
  return commitTransition(db, await readKey(db, boqListId), event, now);
}

async function commitTransition(
  db: Database,
  key: KeySnapshot,
  event: KeyEvent,
  now: number,
  addExtraWrites: (writes: CommitWrites, record: KeyRecord) => void = () => undefined,
): Promise<KeyOutcome> {
  const { record, outcome } = transition(key.record, event, now);
  if (record === undefined || record === key.record) return outcome;
  // The workflow no longer waits for a try whose signal aborted, and may have acted on a later read.
  db.signal.throwIfAborted();
  const hasEnded = key.record?.status === 'processing' && record.status !== 'processing';
  await db.commit((writes) => {
    setKey(writes, key, record);
    if (hasEnded) setListStatuses(db, writes, record);
    addExtraWrites(writes, record);
  });
  return outcome;
}

/** A market's text as the list documents hold it: one longer than a text field may be counts as missing. */
const nullIfTooLong = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;
