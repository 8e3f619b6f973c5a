import type { Clock } from '../lib/clock';
import { ServiceError } from '../lib/http/errors';
import type { Database } from '../lib/repositories/database';
import {
  claim,
  newId,
  settle,
  writeChunk,
  writeEntries,
  type Claim,
  type ListKind,
} from '../lib/repositories/price-lists';
import { ridingOut } from '../lib/repositories/retry';
import type { PriceListSubmission, ProductPrices } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';
import { pack, type PackedPayload } from './payload';
import { successfulResponse } from './records';
import type { Verdict } from './state-machine';

/**
 * The creation of a price list, as a walk over points from which it can be taken up again:
 *
 *     claimed    the key's record, the request record with its payload, both parents: one transaction
 *     stored     the chunks of the payload that were too many for that commit
 *     written    every entry of both lists, in batches
 *     finished   both parents ready, the key completed, the response stored: one transaction
 *
 * or, from any of them, failed: both parents failed, the key awaiting review: one transaction. Every step may be taken
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
  const payload = await pack(submission);
  const first = fitting(payload.chunks);
  const claimed = await claimKey(submission, payload, first, run);
  if (claimed.is !== 'owned') return answered(claimed);

  const attempt = claimed.record;
  run.log.claimed(attempt);
  try {
    return answered(await carryOut(submission, attempt, payload.chunks.slice(first), run));
  } catch (cause) {
    return answered(await fail(attempt, claimed.record.boq_list_id, cause, run), cause);
  }
}

async function claimKey(
  { info, products }: PriceListSubmission,
  { fingerprint, chunks }: PackedPayload,
  first: number,
  run: Run,
): Promise<Verdict> {
  const { db, clock } = run;
  const now = clock.now();
  const draft = {
    owner: run.newToken(),
    lease_expires_at: now + run.leaseMs,
    fingerprint,
    products_count: products.length,
    payload_chunks: chunks.length,
    market_id: info.market_id,
    document_id: newId(db),
    claimed_at: now,
  };
  const request: Claim = {
    info,
    draft,
    ids: { expected_forward_cost_id: newId(db), price_list_id: newId(db) },
    chunks: chunks.slice(0, first),
    respond: (attempt) => successfulResponse(attempt, info, now),
    now,
  };
  try {
    return await ridingOut(() => claim(db, request), run);
  } catch (cause) {
    // The error may be of a claim that landed. Were it believed, the key would be blocked by a request that was refused.
    const met = () => settle(db, info.boq_list_id, { type: 'met', by: draft }, clock.now());
    const verdict = await ridingOut(met, { ...run, signal: AbortSignal.timeout(RESERVE_MS) });
    if (verdict.is === 'free') throw cause;
    return verdict;
  }
}

/** From `claimed` to `finished`. */
async function carryOut(
  { info, products }: PriceListSubmission,
  attempt: Attempt,
  rest: readonly Buffer[],
  run: Run,
): Promise<Verdict> {
  const { db, clock } = run;
  const { document_id, creation } = attempt;
  const chunks = rest.map((chunk, i) => ({ document_id, index: attempt.payload_chunks - rest.length + i, chunk }));
  // Without a market there is nothing after the payload: its last chunk goes with the finish.
  const last = creation === null ? chunks.pop() : undefined;
  for (const chunk of chunks) await ridingOut(() => writeChunk(db, chunk), run);
  if (creation !== null) await writeLists(products, attempt, creation, run);

  const finished_at = clock.now();
  const response = successfulResponse(attempt, info, finished_at);
  const event = { type: 'finished', attempt, response } as const;
  const verdict = await ridingOut(() => settle(db, info.boq_list_id, event, finished_at, last), run);
  if (verdict.is === 'completed' && verdict.own) run.log.finished(attempt);
  else run.log.superseded(attempt, verdict.is);
  return verdict;
}

/**
 * Writes the entries of both lists side by side, each list batch after batch. When one list fails, the other stops
 * after the batch that it is at, so that nothing is still under way when the attempt is failed.
 */
async function writeLists(
  products: PriceListSubmission['products'],
  attempt: Attempt,
  { expected_forward_cost_id, price_list_id }: Creation,
  run: Run,
): Promise<void> {
  let stopped = false;
  const write = async (kind: ListKind, list_id: string, price: keyof ProductPrices) => {
    try {
      for (let start = 0; start < products.length && !stopped; start += MAX_BATCH) {
        if (run.clock.now() >= attempt.lease_expires_at)
          throw new Error('the lease ran out while entries were written');
        const batch = products.slice(start, start + MAX_BATCH).map(([id, prices]) => [id, prices[price]] as const);
        await ridingOut(() => writeEntries(run.db, kind, list_id, batch), run);
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const written = await Promise.allSettled([
    write('expected_forward_cost', expected_forward_cost_id, 'expected_forward_cost_price'),
    write('price_list', price_list_id, 'price_list_price'),
  ]);
  for (const list of written) if (list.status === 'rejected') throw list.reason;
}

/** Settles an attempt that cannot go on, in the time that was kept back for it. */
async function fail(attempt: Attempt, boq_list_id: string, cause: unknown, run: Run): Promise<Verdict> {
  const reason = messageOf(cause);
  run.log.failed(attempt, reason);
  const step = () => settle(run.db, boq_list_id, { type: 'failed', attempt, reason }, run.clock.now());
  try {
    return await ridingOut(step, { ...run, signal: AbortSignal.timeout(RESERVE_MS) });
  } catch (error) {
    // The lease will run out, and whoever meets the key then settles it.
    run.log.failed(attempt, `could not be settled: ${messageOf(error)}`);
    return { is: 'failed' };
  }
}

/** How many of the chunks, from the first, fit into the claim's own commit. */
function fitting(chunks: readonly Buffer[]): number {
  let bytes = 0;
  const over = chunks.findIndex((chunk) => (bytes += chunk.length) > CLAIM_PAYLOAD_BYTES);
  return over === -1 ? chunks.length : over;
}

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
