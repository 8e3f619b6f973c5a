import { parseText } from '../src/lib/json/body-parser';
import type { Database } from '../src/lib/firestore/database';
import { toEntryColumns, applyKeyEvent, type ListKind } from '../src/lib/repositories/price-lists';
import { retry } from '../src/lib/firestore/retry';
import {
  createPriceListParser,
  type PriceListSubmission,
  type ProductColumns,
} from '../src/lib/schemas/add-price-lists';
import type { Attempt, Creation, KeyRecord } from '../src/lib/schemas/key-record';
import { computeFingerprint, decompressChunks } from '../src/price-lists/payload';
import type { OperatorDecision, KeyOutcome } from '../src/price-lists/key-state-machine';
import {
  failAttempt,
  completeAttempt,
  writePendingEntries,
  type PendingEntries,
  type WorkflowContext,
} from '../src/price-lists/create-price-lists';
import { readPayloadChunks, streamStoredEntries, getKeyRecord } from './stored-records';

/** What an operator does about a key that requires review. Every change is a step of the service's own state machine. */

/** Why something is not done, in words for the operator. */
export class CommandError extends Error {}

/** A stored payload: what it was when it was accepted, or why it is of no use. */
export type StoredPayload =
  { kind: 'valid'; submission: PriceListSubmission; text: Buffer } | { kind: 'invalid'; reason: string };

/** The record of a key. @throws Refusal when the key was never posted */
export async function requireKeyRecord(boq_list_id: string, run: WorkflowContext): Promise<KeyRecord> {
  const record = await retry(() => getKeyRecord(run.db, boq_list_id), run);
  if (record === undefined) throw new CommandError(`No request was ever accepted for ${JSON.stringify(boq_list_id)}.`);
  return record;
}

/** The payload of an attempt, checked against its fingerprint. */
export async function loadStoredPayload(db: Database, attempt: Attempt): Promise<StoredPayload> {
  const chunks = await readPayloadChunks(db, attempt);
  if (chunks.length !== attempt.payload_chunks) {
    return { kind: 'invalid', reason: `only ${chunks.length} of its ${attempt.payload_chunks} chunks were stored` };
  }
  try {
    const text = await decompressChunks(chunks);
    const submission = parseText(createPriceListParser(), text.toString());
    if (computeFingerprint(submission) === attempt.fingerprint) return { kind: 'valid', submission, text };
  } catch {
    // Damaged: as with another fingerprint, what is stored is not what was accepted.
  }
  return { kind: 'invalid', reason: 'what is stored is not what was accepted' };
}

/** Who decides, and why. */
export type DecisionAuthor = Pick<OperatorDecision, 'by' | 'reason'>;

/** What a resume tells of itself on its way. */
export interface ResumeProgress {
  /** The attempt is taken over, and this many entries of both lists together are missing or wrong. */
  onPending(entries: number): void;
  onWritten(entries: number): void;
}

/**
 * Takes an attempt over and carries it to its end: writes the entries that are missing or differ, turns both parents
 * ready, and stores the response. May be stopped anywhere and done again, and by two at once: one of them is refused.
 *
 * @returns the stored response, by this resume or already there
 * @throws Refusal
 */
export async function resume(
  record: KeyRecord,
  decision: DecisionAuthor,
  run: WorkflowContext,
  listener: ResumeProgress,
): Promise<{ response: string }> {
  const { boq_list_id, document_id } = record;
  const payload = await retry(() => loadStoredPayload(run.db, record), run);
  if (payload.kind === 'invalid') throw new CommandError(describeInvalidPayload(payload.reason));

  const { info, products } = payload.submission;
  const owner = run.newToken();
  const lease_expires_at = run.clock.now() + run.leaseMs;
  const resumeEvent = { kind: 'resumed', document_id, owner, lease_expires_at, ...decision } as const;
  const outcome = await retry(
    (signal) => applyKeyEvent(run.db, boq_list_id, resumeEvent, run.clock.now(), signal),
    run,
  );
  if (outcome.kind !== 'owned') return requireCompleted(outcome);

  const attempt = outcome.record;
  const { creation } = attempt;
  let verdict: KeyOutcome;
  try {
    if (creation !== null) {
      const lacking = await retry(() => findPendingEntries(run.db, creation, products), run);
      listener.onPending(lacking.expected_forward_cost.ids.length + lacking.price_list.ids.length);
      await writePendingEntries(lacking, attempt, creation, run, (entries) => listener.onWritten(entries));
    }
    verdict = await completeAttempt(info, attempt, run);
  } catch (error) {
    verdict = await failAttempt(attempt, boq_list_id, error, run);
    if (verdict.kind === 'failed') throw error;
  }
  return requireCompleted(verdict);
}

/**
 * Gives an attempt up: its parents are failed, and the next post on its key begins afresh. May be done twice.
 *
 * @throws Refusal
 */
export async function release(record: KeyRecord, decision: DecisionAuthor, run: WorkflowContext): Promise<void> {
  const { boq_list_id, document_id } = record;
  const event = { kind: 'released', document_id, ...decision } as const;
  const verdict = await retry((signal) => applyKeyEvent(run.db, boq_list_id, event, run.clock.now(), signal), run);
  if (verdict.kind === 'completed') throw new CommandError('The lists are ready: there is nothing to release.');
  if (verdict.kind !== 'available') throw new CommandError(describeOutcome(verdict));
}

/** The text that says what is left to do about an attempt whose payload is of no use. */
export const describeInvalidPayload = (reason: string): string =>
  `The payload cannot be used: ${reason}. This attempt can only be released; its caller then has to post again.`;

function requireCompleted(verdict: KeyOutcome): { response: string } {
  if (verdict.kind === 'completed') return { response: verdict.response };
  throw new CommandError(describeOutcome(verdict));
}

function describeOutcome(verdict: Exclude<KeyOutcome, { kind: 'completed' }>): string {
  switch (verdict.kind) {
    case 'available':
      return 'The key has been released: its caller may post again.';
    case 'blocked':
      return verdict.retryAfterMs === null
        ? 'Meanwhile another attempt on the key has come to require review. Look at it first.'
        : `An attempt on the key is live for at most another ${Math.ceil(verdict.retryAfterMs / 1000)} s. Wait for it.`;
    case 'payload_mismatch':
    case 'failed':
    case 'owned':
      return 'Somebody else has settled the key meanwhile. Look at it again.';
  }
}

/** The entries that are missing, or are not as the payload has them. */
async function findPendingEntries(db: Database, creation: Creation, products: ProductColumns): Promise<PendingEntries> {
  const lacking = async (kind: ListKind) => {
    const { ids, prices } = toEntryColumns(kind, products);
    const held = new Map<string, unknown>();
    for await (const [id, stored] of streamStoredEntries(db, kind, creation)) held.set(id, stored);
    const isWrong = (place: number) => held.get(ids[place] ?? '') !== prices[place];
    return { ids: ids.filter((_, place) => isWrong(place)), prices: prices.filter((_, place) => isWrong(place)) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    lacking('expected_forward_cost'),
    lacking('price_list'),
  ]);
  return { expected_forward_cost, price_list };
}
