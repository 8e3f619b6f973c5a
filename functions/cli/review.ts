import { parseText } from '../src/lib/json/body-parser';
import type { Database } from '../src/lib/firestore/database';
import { toEntries, type Entries, type ListKind } from '../src/lib/repositories/price-lists';
import { retry } from '../src/lib/firestore/retry';
import {
  createPriceListParser,
  type PriceListSubmission,
  type ProductColumns,
} from '../src/lib/schemas/add-price-lists';
import type { Attempt, Creation, KeyRecord } from '../src/lib/schemas/key-record';
import type { KeyOutcome, OperatorDecision, ResumeDecision } from '../src/price-lists/key-state-machine';
import { takeStep } from '../src/price-lists/key-steps';
import type { Lease } from '../src/price-lists/lease';
import { computeFingerprint, decompressChunks } from '../src/price-lists/payload';
import { runAttempt, writePendingEntries, type WrittenEntries } from '../src/price-lists/run-attempt';
import { quote } from './escape';
import { getKeyRecord, readPayloadChunks, streamStoredEntries } from './stored-records';
import { CommandError } from './terminal';

/** How a key that requires review is resolved. Every change is a step of the service's own state machine. */

/** The stored payload of an attempt is incomplete or damaged: the attempt cannot be resumed, ever. */
export class InvalidPayloadError extends CommandError {}

/** What resolving a key depends on. */
export interface OperatorContext {
  db: Database;
  /** Creates a token that no other attempt ever had. */
  newToken: () => string;
}

/** A stored payload as it was accepted, or why it cannot be used. */
export type StoredPayload =
  { kind: 'valid'; submission: PriceListSubmission; text: Buffer } | { kind: 'invalid'; reason: string };

/** @throws CommandError if no request was ever accepted for the key */
export async function requireKeyRecord(boqListId: string, db: Database): Promise<KeyRecord> {
  const record = await retry(() => getKeyRecord(db, boqListId), db);
  if (record === undefined) throw new CommandError(`No request was ever accepted for ${quote(boqListId)}.`);
  return record;
}

/** Reads the payload of an attempt and checks it against its fingerprint. */
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
    // Damaged. As with another fingerprint, the stored payload is not the accepted one.
  }
  return { kind: 'invalid', reason: 'the stored payload is not the accepted one' };
}

/**
 * Takes over an attempt and carries it to its end: writes the entries that are missing or differ, makes both lists
 * ready, and stores the response. May be stopped anywhere and repeated; of two at the same time one is rejected.
 *
 * @returns the stored response, of this resume or of an earlier one
 * @throws CommandError; InvalidPayloadError before anything is written; the error that failed the attempt
 */
export async function resume(
  record: KeyRecord,
  decision: ResumeDecision,
  { db, newToken }: OperatorContext,
  onProgress?: (progress: WrittenEntries) => void,
): Promise<{ response: string }> {
  const { boq_list_id, document_id } = record;
  const payload = await retry(() => loadStoredPayload(db, record), db);
  if (payload.kind === 'invalid') throw new InvalidPayloadError(describeInvalidPayload(payload.reason));

  const attempt = { owner: newToken() };
  const taken = await takeStep(db, boq_list_id, { kind: 'resumed', document_id, attempt, ...decision });
  if (taken.kind !== 'owned') return requireCompleted(taken);

  const { info, products } = payload.submission;
  const { outcome, cause } = await runAttempt(taken.record, info, db, async (lease) => {
    const { creation } = record;
    if (creation === null) return;
    const pending = await lease.run(() => findPendingEntries(db, creation, products, lease));
    await writePendingEntries(pending, creation, lease, db, onProgress);
  });
  if (outcome.kind === 'failed') throw cause;
  return requireCompleted(outcome);
}

/**
 * Gives up an attempt: its lists stay failed, and the next request for its key is a new attempt. May be repeated.
 *
 * @throws CommandError
 */
export async function release(record: KeyRecord, decision: OperatorDecision, db: Database): Promise<void> {
  const { boq_list_id, document_id } = record;
  const outcome = await takeStep(db, boq_list_id, { kind: 'released', document_id, ...decision });
  if (outcome.kind === 'completed') throw new CommandError('The lists are ready: there is nothing to release.');
  if (outcome.kind !== 'available') throw new CommandError(describeOutcome(outcome));
}

export const describeInvalidPayload = (reason: string): string =>
  `The payload cannot be used: ${reason}. This attempt can only be released; the client then has to send the request again.`;

function requireCompleted(outcome: KeyOutcome): { response: string } {
  if (outcome.kind === 'completed') return { response: outcome.response };
  throw new CommandError(describeOutcome(outcome));
}

function describeOutcome(outcome: Exclude<KeyOutcome, { kind: 'completed' }>): string {
  switch (outcome.kind) {
    case 'available':
      return 'The key was released: the client may send the request again.';
    case 'blocked':
      return outcome.retryAfterMs === null
        ? 'The key requires review again since it was read. Look at it first.'
        : 'Another attempt on the key is in progress. Wait for it.';
    case 'payload_mismatch':
    case 'failed':
    case 'owned':
      return 'The key was resolved meanwhile. Look at it again.';
  }
}

/** Entries that are read between two looks at the lease. */
const ENTRIES_PER_LOOK = 1_000;

/** The entries that are missing, or differ from the payload. */
async function findPendingEntries(
  db: Database,
  creation: Creation,
  products: ProductColumns,
  lease: Lease,
): Promise<Entries> {
  const entries = toEntries(products);
  const findIn = async (kind: ListKind) => {
    const { ids, prices } = entries[kind];
    const stored = new Map<string, unknown>();
    for await (const [id, price] of streamStoredEntries(db, kind, creation)) {
      stored.set(id, price);
      if (stored.size % ENTRIES_PER_LOOK === 0) await lease.keep();
    }
    const isPending = (i: number) => stored.get(ids[i] ?? '') !== prices[i];
    return { ids: ids.filter((_, i) => isPending(i)), prices: prices.filter((_, i) => isPending(i)) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    findIn('expected_forward_cost'),
    findIn('price_list'),
  ]);
  return { expected_forward_cost, price_list };
}
