import type { CallContext } from '../lib/call-context';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { toEntries, type Entries, type ListKind } from '../lib/repositories/price-lists';
import { readKeyRecord, streamStoredEntries } from '../lib/repositories/stored-price-lists';
import type { ProductColumns } from '../lib/schemas/add-price-lists';
import type { Creation, KeyRecord } from '../lib/schemas/key-record';
import type { KeyOutcome, ResumeDecision } from './key-state-machine';
import { takeStep } from './key-steps';
import type { Lease } from './lease';
import { ResolutionError } from './resolution-error';
import { runAttempt, writePendingEntries, type WrittenEntries } from './run-attempt';
import { readStoredPayload } from './stored-payload';

/** @throws ResolutionError key_unknown */
export async function requireKeyRecord(boqListId: string, db: Database, context: CallContext): Promise<KeyRecord> {
  const record = await retry(() => readKeyRecord(db, boqListId), context);
  if (record === undefined) throw new ResolutionError('key_unknown', JSON.stringify(boqListId));
  return record;
}

/**
 * Takes over an attempt that requires review: writes the entries that are missing or differ, makes both lists ready, and
 * stores the response. May be stopped anywhere and repeated; of two at the same time one is rejected.
 *
 * @returns the stored response, of this resume or of an earlier one
 * @throws ResolutionError, `payload_unusable` before anything is written; the error that failed the attempt
 */
export async function resume(
  record: KeyRecord,
  decision: ResumeDecision,
  db: Database,
  context: CallContext,
  onProgress?: (progress: WrittenEntries) => void,
): Promise<string> {
  const { boq_list_id, document_id } = record;
  const payload = await retry(() => readStoredPayload(db, record), context);
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);

  const attempt = { owner: context.newToken() };
  const taken = await takeStep(db, boq_list_id, { kind: 'resumed', document_id, attempt, ...decision });
  if (taken.kind !== 'owned') return requireResponse(taken);

  const { info, products } = payload.submission;
  const { outcome, cause } = await runAttempt(taken.record, info, db, async (lease) => {
    const { creation } = record;
    if (creation === null) return;
    const pending = await lease.run(() => findPendingEntries(db, creation, products, lease));
    await writePendingEntries(pending, creation, lease, db, onProgress);
  });
  if (outcome.kind === 'failed') throw cause;
  return requireResponse(outcome);
}

function requireResponse(outcome: KeyOutcome): string {
  if (outcome.kind === 'completed') return outcome.response;
  throw toResolutionError(outcome);
}

/** Converts what a key became in place of what was decided about it. */
export function toResolutionError(outcome: Exclude<KeyOutcome, { kind: 'completed' }>): ResolutionError {
  switch (outcome.kind) {
    case 'available':
      return new ResolutionError('key_released');
    case 'blocked':
      return new ResolutionError(outcome.retryAfterMs === null ? 'key_in_review_again' : 'key_in_progress');
    case 'payload_mismatch':
    case 'failed':
    case 'owned':
      return new ResolutionError('key_resolved');
  }
}

/** Entries that are read before the lease is renewed again, if that is due. */
const ENTRIES_PER_LEASE_CHECK = 1_000;

/** Finds the entries that are missing, or differ from the payload. */
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
      if (stored.size % ENTRIES_PER_LEASE_CHECK === 0) await lease.keep();
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
