import { StoppedError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { writeEntryBatch, type Entries, type ListKind } from '../lib/repositories/price-lists';
import { isTransient } from '../lib/firestore/retry';
import { MAX_ENTRIES_PER_COMMIT } from '../lib/runtime-options';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Creation, FailureCause, KeyRecord, Progress } from '../lib/schemas/key-record';
import { takeLastStep, tryStep } from './key-steps';
import type { KeyOutcome } from './key-state-machine';
import { Lease } from './lease';

/**
 * Carries an attempt to its end, for the request that claimed it and for a resume: has the rest written under its lease, and
 * completes it; or fails it.
 *
 * @returns what has become of the key, and the error for which the attempt could not be completed
 */
export async function runAttempt(
  attempt: KeyRecord,
  info: PriceListInfo,
  db: Database,
  writeRest: (lease: Lease) => Promise<void>,
): Promise<{ outcome: KeyOutcome; cause?: unknown }> {
  const lease = new Lease(attempt, db);
  const complete = () => tryStep(db, attempt.boq_list_id, { kind: 'completed', attempt, info });
  try {
    await writeRest(lease);
    return { outcome: await lease.run(complete) };
  } catch (cause) {
    return { outcome: await failAttempt(attempt, cause, db), cause };
  }
}

/** How many entries of both lists are written. */
export type WrittenEntries = Pick<Progress, 'entries_written' | 'entries_total'>;

/**
 * Writes entries of both lists side by side, each list batch by batch. When one list fails, the other stops after its
 * current batch, so that no call is under way when the attempt is failed.
 *
 * @param onProgress called at the start and after each batch
 */
export async function writePendingEntries(
  pending: Entries,
  creation: Creation,
  lease: Lease,
  db: Database,
  onProgress?: (progress: WrittenEntries) => void,
): Promise<void> {
  let stopped = false;
  const entries_total = pending.expected_forward_cost.ids.length + pending.price_list.ids.length;
  lease.progress = { entries_written: 0, entries_total, started_at: db.clock.now() };
  onProgress?.(lease.progress);
  const write = async (kind: ListKind) => {
    const { ids, prices } = pending[kind];
    try {
      for (let start = 0; start < ids.length && !stopped; start += MAX_ENTRIES_PER_COMMIT) {
        const end = start + MAX_ENTRIES_PER_COMMIT;
        const batch = { ids: ids.slice(start, end), prices: prices.subarray(start, end) };
        await lease.run(() => writeEntryBatch(db, kind, creation, batch));
        lease.progress.entries_written += batch.ids.length;
        onProgress?.(lease.progress);
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const lists = await Promise.allSettled([write('expected_forward_cost'), write('price_list')]);
  for (const list of lists) if (list.status === 'rejected') throw list.reason;
}

/**
 * Fails an attempt that cannot go on, in the time reserved for it. Its completion may have taken effect, although the response
 * to it was lost: the outcome then is that.
 */
async function failAttempt(attempt: KeyRecord, error: unknown, db: Database): Promise<KeyOutcome> {
  const reason = errorMessage(error);
  const event = { kind: 'failed', attempt, reason, cause: classifyFailure(error, db.signal) } as const;
  try {
    return await takeLastStep(db, attempt.boq_list_id, event);
  } catch (failure) {
    // The lease expires, and the next step on the key fails the attempt.
    return { kind: 'failed', reason: `${reason}; the failure could not be stored: ${errorMessage(failure)}` };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : 'not an error');
