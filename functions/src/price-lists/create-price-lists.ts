import type { Clock } from '../lib/clock';
import { ApiError } from '../lib/errors';
import type { PriceListLogger } from '../lib/logging';
import type { Database } from '../lib/firestore/database';
import {
  commitClaim,
  toEntryColumns,
  newDocumentId,
  applyKeyEvent,
  writePayloadChunk,
  writeEntryBatch,
  type ClaimRequest,
  type EntryColumns,
  type ListKind,
  type PayloadChunk,
} from '../lib/repositories/price-lists';
import { retry } from '../lib/firestore/retry';
import type { PriceListInfo, PriceListSubmission } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';
import { computeFingerprint, compressToChunks } from './payload';
import { createSuccessResponse } from './list-documents';
import type { KeyOutcome } from './key-state-machine';

/**
 * The creation of a price list, as a walk over points from which it can be taken up again:
 *
 *     claimed    the key's record, the request record with its payload, both parents: one commit
 *     stored     the chunks of the payload that were too many for that commit
 *     written    every entry of both lists, in batches
 *     finished   both parents ready, the key completed, the response stored: one commit
 *
 * or, from any of them, failed: both parents failed, the key awaiting review: one commit. Every step may be taken
 * twice, and is: an error of a call says nothing of whether it took effect, so the key's record is asked.
 */

/** What a run depends on besides its submission. */
export interface WorkflowContext {
  db: Database;
  clock: Clock;
  random: () => number;
  /** A token that no other run ever had. */
  newToken: () => string;
  /** Aborts when the run's time is up, early enough for the attempt to be failed in {@link FAILURE_RESERVE_MS}. */
  signal: AbortSignal;
  /** How long after its claim the attempt counts as live. Longer than the platform lets it run. */
  leaseMs: number;
  log: PriceListLogger;
}

/** What the caller is answered: bytes that were stored, by this request or by an identical one before it. */
export interface CreationResult {
  response: string;
  replayed: boolean;
}

/** Milliseconds that a run keeps back from its time for failing its attempt. */
export const FAILURE_RESERVE_MS = 45_000;

/** Bytes of payload that go with the claim's own commit; Firestore's limit for one is 10 MiB. */
const MAX_CLAIM_PAYLOAD_BYTES = 9 * 1024 * 1024 - 64 * 1024;

const MAX_ENTRIES_PER_COMMIT = 500;

/** A `Retry-After` is no longer than this, though an attempt may be live for much longer. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Creates both lists of a submission, exactly once for its key, and returns the stored answer.
 *
 * @throws ServiceError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export async function createPriceLists(submission: PriceListSubmission, run: WorkflowContext): Promise<CreationResult> {
  const loadPayload = memoize(() => preparePayload(submission));
  const claimed = await claimKey(submission, loadPayload, run);
  if (claimed.kind !== 'owned') return toResult(claimed);

  const attempt = claimed.record;
  run.log.claimed(attempt);
  let cause: unknown;
  let verdict: KeyOutcome;
  try {
    const { chunks, inlineChunkCount } = await loadPayload();
    verdict = await runAttempt(submission, attempt, chunks.slice(inlineChunkCount), run);
  } catch (error) {
    cause = error;
    verdict = await failAttempt(attempt, claimed.record.boq_list_id, error, run);
  }
  // Whoever settled the attempt meanwhile, its caller is told of this key, never that the payload is not its own.
  return toResult(verdict.kind === 'payload_mismatch' ? { kind: 'blocked', retryAfterMs: null } : verdict, cause);
}

/** The packed payload, and how many of its chunks, from the first, fit into the claim's own commit. */
async function preparePayload(submission: PriceListSubmission) {
  const chunks = await compressToChunks(submission);
  let bytes = 0;
  const over = chunks.findIndex((chunk) => (bytes += chunk.length) > MAX_CLAIM_PAYLOAD_BYTES);
  return { chunks, inlineChunkCount: over === -1 ? chunks.length : over };
}

async function claimKey(
  submission: PriceListSubmission,
  loadPayload: ClaimRequest['loadPayload'],
  run: WorkflowContext,
): Promise<KeyOutcome> {
  const { info, products } = submission;
  const { db, clock } = run;
  const now = clock.now();
  const attemptDraft = {
    owner: run.newToken(),
    lease_expires_at: now + run.leaseMs,
    fingerprint: computeFingerprint(submission),
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newDocumentId(db),
    claimed_at: now,
  };
  const request: ClaimRequest = {
    info,
    attemptDraft,
    listIds: { expected_forward_cost_id: newDocumentId(db), price_list_id: newDocumentId(db) },
    loadPayload,
    createResponse: (attempt) => createSuccessResponse(attempt, info, now),
    now,
  };
  try {
    return await retry((signal) => commitClaim(db, request, signal), run);
  } catch (cause) {
    // The error may be of a claim that landed. Were it believed, the key would be blocked by a request that was refused.
    const inspectKey = (signal: AbortSignal) =>
      applyKeyEvent(db, info.boq_list_id, { kind: 'inspected', by: attemptDraft }, clock.now(), signal);
    const verdict = await retry(inspectKey, withReserveTime(run));
    if (verdict.kind === 'available') throw cause;
    return verdict;
  }
}

/** From `claimed` to `finished`; `rest` are the chunks of the payload that did not go with the claim. */
async function runAttempt(
  { info, products }: PriceListSubmission,
  attempt: Attempt,
  rest: readonly Buffer[],
  run: WorkflowContext,
): Promise<KeyOutcome> {
  const { document_id, creation, payload_chunks } = attempt;
  const chunks = rest.map((chunk, i) => ({ document_id, index: payload_chunks - rest.length + i, data: chunk }));
  // Without a market there is nothing after the payload: its last chunk goes with the finish.
  const lastChunk = creation === null ? chunks.pop() : undefined;
  for (const chunk of chunks) {
    await retry(() => writePayloadChunk(run.db, chunk), run);
  }
  if (creation !== null) {
    const pending = {
      expected_forward_cost: toEntryColumns('expected_forward_cost', products),
      price_list: toEntryColumns('price_list', products),
    };
    await writePendingEntries(pending, attempt, creation, run);
  }
  return completeAttempt(info, attempt, run, lastChunk);
}

/** The entries that each list lacks. */
export type PendingEntries = Record<ListKind, EntryColumns>;

/**
 * Writes entries of both lists side by side, each list batch after batch. When one list fails, the other stops after
 * the batch that it is at, so that nothing is still under way when the attempt is failed.
 *
 * A process that was frozen past its lease, and so may have been superseded, goes no further than the batch that it is at.
 */
export async function writePendingEntries(
  pending: PendingEntries,
  { lease_expires_at }: Attempt,
  creation: Creation,
  run: WorkflowContext,
  onWritten: (entries: number) => void = () => undefined,
): Promise<void> {
  let stopped = false;
  const write = async (kind: ListKind) => {
    const { ids, prices } = pending[kind];
    try {
      for (let start = 0; start < ids.length && !stopped; start += MAX_ENTRIES_PER_COMMIT) {
        const end = start + MAX_ENTRIES_PER_COMMIT;
        if (run.clock.now() >= lease_expires_at) throw new Error('the lease ran out while entries were written');
        const batch = { ids: ids.slice(start, end), prices: prices.subarray(start, end) };
        await retry(() => writeEntryBatch(run.db, kind, creation, batch), run);
        onWritten(batch.ids.length);
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const written = await Promise.allSettled([write('expected_forward_cost'), write('price_list')]);
  for (const list of written) if (list.status === 'rejected') throw list.reason;
}

/** Completes an attempt whose entries are all written. */
export async function completeAttempt(
  info: PriceListInfo,
  attempt: Attempt,
  run: WorkflowContext,
  last?: PayloadChunk,
): Promise<KeyOutcome> {
  const completedAt = run.clock.now();
  const event = { kind: 'completed', attempt, response: createSuccessResponse(attempt, info, completedAt) } as const;
  const verdict = await retry(
    (signal) => applyKeyEvent(run.db, info.boq_list_id, event, completedAt, signal, last),
    run,
  );
  if (verdict.kind === 'completed' && verdict.isOwn) run.log.completed(attempt);
  else run.log.superseded(attempt, verdict.kind);
  return verdict;
}

/** Settles an attempt that cannot go on, in the time that was kept back for it, and says what has become of it. */
export async function failAttempt(
  attempt: Attempt,
  boq_list_id: string,
  cause: unknown,
  run: WorkflowContext,
): Promise<KeyOutcome> {
  const reason = errorMessage(cause);
  const step = (signal: AbortSignal) =>
    applyKeyEvent(run.db, boq_list_id, { kind: 'failed', attempt, reason }, run.clock.now(), signal);
  try {
    const verdict = await retry(step, withReserveTime(run));
    if (verdict.kind === 'failed') run.log.failed(attempt, reason);
    // The finish had landed, though its reply was lost.
    else if (verdict.kind === 'completed' && verdict.isOwn) run.log.completed(attempt);
    else run.log.superseded(attempt, verdict.kind);
    return verdict;
  } catch (error) {
    // The lease will run out, and whoever meets the key then settles it.
    run.log.failed(attempt, `${reason}; could not be settled: ${errorMessage(error)}`);
    return { kind: 'failed' };
  }
}

/** The run, on the time that it keeps back instead of what it has. */
const withReserveTime = (run: WorkflowContext): WorkflowContext => ({
  ...run,
  signal: AbortSignal.timeout(FAILURE_RESERVE_MS),
});

function toResult(verdict: KeyOutcome, cause?: unknown): CreationResult {
  switch (verdict.kind) {
    case 'completed':
      return { response: verdict.response, replayed: !verdict.isOwn };
    case 'payload_mismatch':
      throw new ApiError('idempotency_key_reused', { logMessage: 'the key is held by another payload', cause });
    case 'blocked':
      if (verdict.retryAfterMs === null)
        throw new ApiError('review_required', { logMessage: 'the key requires review', cause });
      throw new ApiError('request_in_progress', {
        logMessage: 'an attempt on the key is live',
        cause,
        headers: { 'Retry-After': String(Math.ceil(Math.min(verdict.retryAfterMs, MAX_RETRY_AFTER_MS) / 1000)) },
      });
    case 'available':
      throw new ApiError('review_required', { logMessage: 'the key was released meanwhile', cause });
    case 'failed':
    case 'owned':
      throw new ApiError('creation_failed', { logMessage: 'the attempt failed', cause });
  }
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : 'not an error');

/** The function's first result, however often it is called. */
function memoize<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
