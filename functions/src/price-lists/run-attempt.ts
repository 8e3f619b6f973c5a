import { StoppedError } from '../lib/errors';
import {
  setPayloadChunk,
  toEntries,
  writeEntryBatch,
  type Entries,
  type ListKind,
} from '../lib/repositories/price-lists';
import { isTransient } from '../lib/firestore/retry';
import { MAX_ENTRIES_PER_COMMIT } from '../lib/runtime-options';
import type { PriceListInfo, PriceListSubmission } from '../lib/schemas/add-price-lists';
import type { Creation, FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { takeStep, tryStep } from './key-steps';
import type { KeyOutcome } from './key-state-machine';
import { Lease } from './lease';
import { withReserveTime, type WorkflowContext } from './workflow-context';

/** What is left of an attempt after its claim, for the request that claimed it and for a resume. */

/** Carries a claimed attempt to its end. @param rest chunks of the payload that are not stored yet */
export async function runAttempt(
  { info, products }: PriceListSubmission,
  attempt: KeyRecord,
  rest: readonly Buffer[],
  context: WorkflowContext,
): Promise<KeyOutcome> {
  const { creation, payload_chunks } = attempt;
  const { db } = context;
  const lease = new Lease(attempt, context);
  for (const [i, data] of rest.entries()) {
    const index = payload_chunks - rest.length + i;
    await lease.run(() => db.commit((writes) => setPayloadChunk(db, writes, attempt, index, data)));
  }
  if (creation !== null) await writePendingEntries(toEntries(products), creation, lease, context);
  return completeAttempt(info, lease, context);
}

/**
 * Writes entries of both lists side by side, each list batch by batch. When one list fails, the other stops after its
 * current batch, so that no call is under way when the attempt is failed.
 */
export async function writePendingEntries(
  pending: Entries,
  creation: Creation,
  lease: Lease,
  context: WorkflowContext,
  onWritten: (entries: number) => void = () => undefined,
): Promise<void> {
  let stopped = false;
  lease.expect(pending.expected_forward_cost.ids.length + pending.price_list.ids.length);
  const write = async (kind: ListKind) => {
    const { ids, prices } = pending[kind];
    try {
      for (let start = 0; start < ids.length && !stopped; start += MAX_ENTRIES_PER_COMMIT) {
        const end = start + MAX_ENTRIES_PER_COMMIT;
        const batch = { ids: ids.slice(start, end), prices: prices.subarray(start, end) };
        await lease.run(() => writeEntryBatch(context.db, kind, creation, batch));
        lease.advance(batch.ids.length);
        onWritten(batch.ids.length);
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const lists = await Promise.allSettled([write('expected_forward_cost'), write('price_list')]);
  for (const list of lists) if (list.status === 'rejected') throw list.reason;
}

/** Completes an attempt whose entries are all written. */
export async function completeAttempt(
  info: PriceListInfo,
  lease: Lease,
  context: WorkflowContext,
): Promise<KeyOutcome> {
  const { log } = context;
  const { attempt } = lease;
  const outcome = await lease.run(() => tryStep(context, attempt.boq_list_id, { kind: 'completed', attempt, info }));
  if (outcome.kind === 'completed' && outcome.isOwn) log.completed(attempt);
  else log.superseded(attempt, outcome.kind);
  return outcome;
}

/** Fails an attempt that cannot go on, in the time reserved for it. @returns what has become of it */
export async function failAttempt(attempt: KeyRecord, error: unknown, context: WorkflowContext): Promise<KeyOutcome> {
  const { log } = context;
  const reason = errorMessage(error);
  const event = { kind: 'failed', attempt, reason, cause: classifyFailure(error, context.signal) } as const;
  try {
    const outcome = await takeStep(withReserveTime(context), attempt.boq_list_id, event);
    if (outcome.kind === 'failed') log.failed(attempt, reason);
    // The completion took effect, although its response was lost.
    else if (outcome.kind === 'completed' && outcome.isOwn) log.completed(attempt);
    else log.superseded(attempt, outcome.kind);
    return outcome;
  } catch (failure) {
    // The lease expires, and the next step on the key fails the attempt.
    log.failed(attempt, `${reason}; the failure could not be stored: ${errorMessage(failure)}`);
    return { kind: 'failed' };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : 'not an error');
