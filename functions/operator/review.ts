import { readWhole } from '../src/lib/http/json';
import type { Database } from '../src/lib/repositories/database';
import { entriesFor, settle, type ListKind } from '../src/lib/repositories/price-lists';
import { ridingOut } from '../src/lib/repositories/retry';
import { priceListReader, type PriceListSubmission, type Products } from '../src/lib/schemas/add-price-lists';
import type { Attempt, Creation, KeyRecord } from '../src/lib/schemas/key-record';
import { fingerprintOf, unpack } from '../src/price-lists/payload';
import type { Operation, Verdict } from '../src/price-lists/state-machine';
import { fail, finish, writeLists, type Lacking, type Run } from '../src/price-lists/workflow';
import { readChunks, readEntries, readKey } from './records';

/** What an operator does about a key that requires review. Every change is a step of the service's own state machine. */

/** Why something is not done, in words for the operator. */
export class Refusal extends Error {}

/** A stored payload: what it was when it was accepted, or why it is of no use. */
export type StoredPayload =
  { is: 'whole'; submission: PriceListSubmission; text: Buffer } | { is: 'unusable'; reason: string };

/** The record of a key. @throws Refusal when the key was never posted */
export async function find(boq_list_id: string, run: Run): Promise<KeyRecord> {
  const record = await ridingOut(() => readKey(run.db, boq_list_id), run);
  if (record === undefined) throw new Refusal(`No request was ever accepted for ${JSON.stringify(boq_list_id)}.`);
  return record;
}

/** The payload of an attempt, checked against its fingerprint. */
export async function storedPayload(db: Database, attempt: Attempt): Promise<StoredPayload> {
  const chunks = await readChunks(db, attempt);
  if (chunks.length !== attempt.payload_chunks) {
    return { is: 'unusable', reason: `only ${chunks.length} of its ${attempt.payload_chunks} chunks were stored` };
  }
  try {
    const text = await unpack(chunks);
    const submission = readWhole(priceListReader(), text.toString());
    if (fingerprintOf(submission) === attempt.fingerprint) return { is: 'whole', submission, text };
  } catch {
    // Damaged: as with another fingerprint, what is stored is not what was accepted.
  }
  return { is: 'unusable', reason: 'what is stored is not what was accepted' };
}

/** Who decides, and why. */
export type Decision = Pick<Operation, 'by' | 'reason'>;

/** What a resume tells of itself on its way. */
export interface ResumeListener {
  /** The attempt is taken over, and this many entries of both lists together are missing or wrong. */
  lacking(entries: number): void;
  wrote(entries: number): void;
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
  decision: Decision,
  run: Run,
  listener: ResumeListener,
): Promise<{ response: string }> {
  const { boq_list_id, document_id } = record;
  const payload = await ridingOut(() => storedPayload(run.db, record), run);
  if (payload.is === 'unusable') throw new Refusal(unresumable(payload.reason));

  const { info, products } = payload.submission;
  const owner = run.newToken();
  const lease_expires_at = run.clock.now() + run.leaseMs;
  const taking = { type: 'resumed', document_id, owner, lease_expires_at, ...decision } as const;
  const taken = await ridingOut((signal) => settle(run.db, boq_list_id, taking, run.clock.now(), signal), run);
  if (taken.is !== 'owned') return completed(taken);

  const attempt = taken.record;
  const { creation } = attempt;
  let verdict: Verdict;
  try {
    if (creation !== null) {
      const lacking = await ridingOut(() => lackingIn(run.db, creation, products), run);
      listener.lacking(lacking.expected_forward_cost.ids.length + lacking.price_list.ids.length);
      await writeLists(lacking, attempt, creation, run, (entries) => listener.wrote(entries));
    }
    verdict = await finish(info, attempt, run);
  } catch (error) {
    verdict = await fail(attempt, boq_list_id, error, run);
    if (verdict.is === 'failed') throw error;
  }
  return completed(verdict);
}

/**
 * Gives an attempt up: its parents are failed, and the next post on its key begins afresh. May be done twice.
 *
 * @throws Refusal
 */
export async function release(record: KeyRecord, decision: Decision, run: Run): Promise<void> {
  const { boq_list_id, document_id } = record;
  const event = { type: 'released', document_id, ...decision } as const;
  const verdict = await ridingOut((signal) => settle(run.db, boq_list_id, event, run.clock.now(), signal), run);
  if (verdict.is === 'completed') throw new Refusal('The lists are ready: there is nothing to release.');
  if (verdict.is !== 'free') throw new Refusal(refusal(verdict));
}

/** The text that says what is left to do about an attempt whose payload is of no use. */
export const unresumable = (reason: string): string =>
  `The payload cannot be used: ${reason}. This attempt can only be released; its caller then has to post again.`;

function completed(verdict: Verdict): { response: string } {
  if (verdict.is === 'completed') return { response: verdict.response };
  throw new Refusal(refusal(verdict));
}

function refusal(verdict: Exclude<Verdict, { is: 'completed' }>): string {
  switch (verdict.is) {
    case 'free':
      return 'The key has been released: its caller may post again.';
    case 'unsettled':
      return verdict.retry_after_ms === null
        ? 'Meanwhile another attempt on the key has come to require review. Look at it first.'
        : `An attempt on the key is live for at most another ${Math.ceil(verdict.retry_after_ms / 1000)} s. Wait for it.`;
    case 'payload_differs':
    case 'failed':
    case 'owned':
      return 'Somebody else has settled the key meanwhile. Look at it again.';
  }
}

/** The entries that are missing, or are not as the payload has them. */
async function lackingIn(db: Database, creation: Creation, products: Products): Promise<Lacking> {
  const lacking = async (kind: ListKind) => {
    const { ids, prices } = entriesFor(kind, products);
    const held = new Map<string, unknown>();
    for await (const [id, stored] of readEntries(db, kind, creation)) held.set(id, stored);
    const isWrong = (place: number) => held.get(ids[place] ?? '') !== prices[place];
    return { ids: ids.filter((_, place) => isWrong(place)), prices: prices.filter((_, place) => isWrong(place)) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    lacking('expected_forward_cost'),
    lacking('price_list'),
  ]);
  return { expected_forward_cost, price_list };
}
