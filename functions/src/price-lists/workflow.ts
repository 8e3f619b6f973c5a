import type { Clock } from '../lib/clock';
import { ServiceError } from '../lib/http/errors';
import type { Database } from '../lib/repositories/database';
import {
  claim,
  entriesFor,
  newId,
  settle,
  writeChunk,
  writeEntries,
  type Claim,
  type Entries,
  type ListKind,
  type PayloadChunk,
} from '../lib/repositories/price-lists';
import { ridingOut } from '../lib/repositories/retry';
import type { PriceListInfo, PriceListSubmission } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';
import { fingerprintOf, pack } from './payload';
import { successfulResponse } from './records';
import type { Verdict } from './state-machine';

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
export interface Run {
  db: Database;
  clock: Clock;
  random: () => number;
  /** A token that no other run ever had. */
  newToken: () => string;
  /** Aborts when the run's time is up, early enough for the attempt to be failed in {@link RESERVE_MS}. */
  signal: AbortSignal;
  /** How long after its claim the attempt counts as live. Longer than the platform lets it run. */
  leaseMs: number;
  log: PriceListLog;
}

/** The events of a price list's life that are worth a line in the log. */
export interface PriceListLog {
  claimed(attempt: Attempt): void;
  finished(attempt: Attempt): void;
  failed(attempt: Attempt, reason: string): void;
  superseded(attempt: Attempt, verdict: Verdict['is']): void;
}

/** What the caller is answered: bytes that were stored, by this request or by an identical one before it. */
export interface Stored {
  response: string;
  replayed: boolean;
}

/** Milliseconds that a run keeps back from its time for failing its attempt. */
export const RESERVE_MS = 45_000;

/** Bytes of payload that go with the claim's own commit; Firestore's limit for one is 10 MiB. */
const CLAIM_PAYLOAD_BYTES = 9 * 1024 * 1024 - 64 * 1024;

const MAX_BATCH = 500;

/** A `Retry-After` is no longer than this, though an attempt may be live for much longer. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Creates both lists of a submission, exactly once for its key, and returns the stored answer.
 *
 * @throws ServiceError payload_differs, attempt_unsettled, creation_failed
 */
export async function addPriceLists(submission: PriceListSubmission, run: Run): Promise<Stored> {
  const payload = once(() => packed(submission));
  const claimed = await claimKey(submission, payload, run);
  if (claimed.is !== 'owned') return answered(claimed);

  const attempt = claimed.record;
  run.log.claimed(attempt);
  let cause: unknown;
  let verdict: Verdict;
  try {
    const { chunks, first } = await payload();
    verdict = await carryOut(submission, attempt, chunks.slice(first), run);
  } catch (error) {
    cause = error;
    verdict = await fail(attempt, claimed.record.boq_list_id, error, run);
  }
  // Whoever settled the attempt meanwhile, its caller is told of this key, never that the payload is not its own.
  return answered(verdict.is === 'payload_differs' ? { is: 'unsettled', retry_after_ms: null } : verdict, cause);
}

/** The packed payload, and how many of its chunks, from the first, fit into the claim's own commit. */
async function packed(submission: PriceListSubmission) {
  const chunks = await pack(submission);
  let bytes = 0;
  const over = chunks.findIndex((chunk) => (bytes += chunk.length) > CLAIM_PAYLOAD_BYTES);
  return { chunks, first: over === -1 ? chunks.length : over };
}

async function claimKey(submission: PriceListSubmission, payload: Claim['payload'], run: Run): Promise<Verdict> {
  const { info, products } = submission;
  const { db, clock } = run;
  const now = clock.now();
  const draft = {
    owner: run.newToken(),
    lease_expires_at: now + run.leaseMs,
    fingerprint: fingerprintOf(submission),
    products_count: products.ids.length,
    market_id: info.market_id,
    document_id: newId(db),
    claimed_at: now,
  };
  const request: Claim = {
    info,
    draft,
    ids: { expected_forward_cost_id: newId(db), price_list_id: newId(db) },
    payload,
    respond: (attempt) => successfulResponse(attempt, info, now),
    now,
  };
  try {
    return await ridingOut((signal) => claim(db, request, signal), run);
  } catch (cause) {
    // The error may be of a claim that landed. Were it believed, the key would be blocked by a request that was refused.
    const met = (signal: AbortSignal) => settle(db, info.boq_list_id, { type: 'met', by: draft }, clock.now(), signal);
    const verdict = await ridingOut(met, inReserve(run));
    if (verdict.is === 'free') throw cause;
    return verdict;
  }
}

/** From `claimed` to `finished`; `rest` are the chunks of the payload that did not go with the claim. */
async function carryOut(
  { info, products }: PriceListSubmission,
  attempt: Attempt,
  rest: readonly Buffer[],
  run: Run,
): Promise<Verdict> {
  const { document_id, creation, payload_chunks } = attempt;
  const chunks = rest.map((chunk, i) => ({ document_id, index: payload_chunks - rest.length + i, chunk }));
  // Without a market there is nothing after the payload: its last chunk goes with the finish.
  const last = creation === null ? chunks.pop() : undefined;
  for (const chunk of chunks) {
    await ridingOut(() => writeChunk(run.db, chunk), run);
  }
  if (creation !== null) {
    const lacking = {
      expected_forward_cost: entriesFor('expected_forward_cost', products),
      price_list: entriesFor('price_list', products),
    };
    await writeLists(lacking, attempt, creation, run);
  }
  return finish(info, attempt, run, last);
}

/** The entries that each list lacks. */
export type Lacking = Record<ListKind, Entries>;

/**
 * Writes entries of both lists side by side, each list batch after batch. When one list fails, the other stops after
 * the batch that it is at, so that nothing is still under way when the attempt is failed.
 *
 * A process that was frozen past its lease, and so may have been superseded, goes no further than the batch that it is at.
 */
export async function writeLists(
  lacking: Lacking,
  { lease_expires_at }: Attempt,
  creation: Creation,
  run: Run,
  wrote: (entries: number) => void = () => undefined,
): Promise<void> {
  let stopped = false;
  const write = async (kind: ListKind) => {
    const { ids, prices } = lacking[kind];
    try {
      for (let start = 0; start < ids.length && !stopped; start += MAX_BATCH) {
        const end = start + MAX_BATCH;
        if (run.clock.now() >= lease_expires_at) throw new Error('the lease ran out while entries were written');
        const batch = { ids: ids.slice(start, end), prices: prices.subarray(start, end) };
        await ridingOut(() => writeEntries(run.db, kind, creation, batch), run);
        wrote(batch.ids.length);
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
export async function finish(info: PriceListInfo, attempt: Attempt, run: Run, last?: PayloadChunk): Promise<Verdict> {
  const finished_at = run.clock.now();
  const event = { type: 'finished', attempt, response: successfulResponse(attempt, info, finished_at) } as const;
  const verdict = await ridingOut((signal) => settle(run.db, info.boq_list_id, event, finished_at, signal, last), run);
  if (verdict.is === 'completed' && verdict.own) run.log.finished(attempt);
  else run.log.superseded(attempt, verdict.is);
  return verdict;
}

/** Settles an attempt that cannot go on, in the time that was kept back for it, and says what has become of it. */
export async function fail(attempt: Attempt, boq_list_id: string, cause: unknown, run: Run): Promise<Verdict> {
  const reason = messageOf(cause);
  const step = (signal: AbortSignal) =>
    settle(run.db, boq_list_id, { type: 'failed', attempt, reason }, run.clock.now(), signal);
  try {
    const verdict = await ridingOut(step, inReserve(run));
    if (verdict.is === 'failed') run.log.failed(attempt, reason);
    // The finish had landed, though its reply was lost.
    else if (verdict.is === 'completed' && verdict.own) run.log.finished(attempt);
    else run.log.superseded(attempt, verdict.is);
    return verdict;
  } catch (error) {
    // The lease will run out, and whoever meets the key then settles it.
    run.log.failed(attempt, `${reason}; could not be settled: ${messageOf(error)}`);
    return { is: 'failed' };
  }
}

/** The run, on the time that it keeps back instead of what it has. */
const inReserve = (run: Run): Run => ({ ...run, signal: AbortSignal.timeout(RESERVE_MS) });

function answered(verdict: Verdict, cause?: unknown): Stored {
  switch (verdict.is) {
    case 'completed':
      return { response: verdict.response, replayed: !verdict.own };
    case 'payload_differs':
      throw new ServiceError('payload_differs', { internal: 'the key is held by another payload', cause });
    case 'unsettled':
      throw new ServiceError('attempt_unsettled', {
        internal: verdict.retry_after_ms === null ? 'the key requires review' : 'an attempt on the key is live',
        cause,
        headers: retryAfter(verdict.retry_after_ms),
      });
    case 'free':
      throw new ServiceError('attempt_unsettled', { internal: 'the key was released meanwhile', cause });
    case 'failed':
    case 'owned':
      throw new ServiceError('creation_failed', { internal: 'the attempt failed', cause });
  }
}

const retryAfter = (ms: number | null): Record<string, string> =>
  ms === null ? {} : { 'Retry-After': String(Math.ceil(Math.min(ms, MAX_RETRY_AFTER_MS) / 1000)) };

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'not an error');

/** The function's first result, however often it is called. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
