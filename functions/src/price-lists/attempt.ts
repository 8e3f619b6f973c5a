import { getErrorMessage, LoggableError, StoppedError } from '../lib/errors';
import { isTransient, retry } from '../lib/firestore/retry';
import { LIST_KINDS, writeEntryBatch, type ListKind } from '../lib/repositories/lists';
import type { Products } from '../lib/schemas/add-price-lists';
import type { FailureCause, KeyRecord } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, RENEWAL_INTERVAL_MS, type RetryLimit } from '../lib/time-limits';
import { measurePhase } from '../lib/work-context';
import { toBatches } from './entries';
import type { KeyOutcome } from './key';
import { applyEvent, applyWithinReserve, type KeyStore } from './key-store';
import { readStoredPayload } from './payload';
import { SWEEP_RECOVERY } from './schedule';

/**
 * An attempt that this process carries out. After the claim or resume, {@link call} makes every write except the commit
 * that fails the attempt.
 *
 * No timer renews the lease. Instead, {@link call} renews it before a call or a retry, if a renewal is due. So the lease
 * of an instance without CPU expires, and a short attempt makes no extra call.
 */
export class Attempt {
  readonly record: KeyRecord;
  #heldUntil: number;
  #renewal: Promise<void> | undefined;

  /** @param limit how long calls are retried: `attempt` for a creation, because its client waits for the result; `outage` for a resume */
  constructor(
    { record, heldUntil }: Extract<KeyOutcome, { kind: 'owned' }>,
    readonly key: KeyStore,
    private readonly limit: RetryLimit,
  ) {
    this.record = record;
    this.#heldUntil = heldUntil;
  }

  /**
   * Makes a call under the lease, and repeats it after a transient error or a conflict.
   *
   * @throws Error if a renewal finds that the attempt has lost its key, and as `retry` does
   */
  call<T>(fn: () => Promise<T>): Promise<T> {
    const callUnderLease = async () => {
      await this.#renewIfDue();
      return fn();
    };
    return retry(callUnderLease, this.key.db.context, this.limit);
  }

  async #renewIfDue(): Promise<void> {
    const { clock } = this.key.db.context;
    // After a slow renewal, the next one can be due at once.
    while (clock.elapsedMs() >= this.#heldUntil - LEASE_DURATION_MS + RENEWAL_INTERVAL_MS) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
    }
  }

  async #renew(): Promise<void> {
    const outcome = await applyEvent(this.key, { kind: 'renew', attempt: this.record });
    if (outcome.kind !== 'owned') throw new LoggableError(`the attempt no longer owns its key: ${outcome.kind}`);
    this.#heldUntil = outcome.heldUntil;
  }
}

/**
 * Carries out an attempt for its owner: writes the entries of both lists in batches, then completes the key. After
 * an error, fails the attempt. A call that fails may have taken effect, so every step is safe to repeat.
 *
 * @param given the products; undefined for a resume, which reads the stored payload
 * @returns the outcome and, if an error ended the try, that error as `cause`
 */
export async function runAttempt(
  attempt: Attempt,
  given?: Products,
): Promise<{ outcome: KeyOutcome; cause?: unknown }> {
  const { key, record } = attempt;
  const { counters } = key.db.context;
  try {
    await measurePhase(counters, 'entries', async () => {
      const products = given ?? (await attempt.call(() => readStoredPayload(key.db, record))).products;
      await writeEntries(products, attempt);
    });
    const complete = () => attempt.call(() => applyEvent(key, { kind: 'complete', attempt: record }));
    return { outcome: await measurePhase(counters, 'completion', complete) };
  } catch (cause) {
    return { outcome: await fail(attempt, cause), cause };
  }
}

/**
 * Writes the entries of both lists concurrently, each list batch by batch. When one list fails, the other stops after
 * its current batch. So this process has no write in progress when the attempt fails, unless the signal has aborted.
 */
async function writeEntries(products: Products, attempt: Attempt): Promise<void> {
  const { db } = attempt.key;
  const { lists } = attempt.record;
  if (lists === null) return;
  let failed = false;
  const writeList = async (kind: ListKind) => {
    for (const batch of toBatches(products, kind, db.context.sizes.batchEntries)) {
      if (failed) return;
      await attempt.call(() => writeEntryBatch(db, kind, lists, batch));
    }
  };
  const writes = LIST_KINDS.map((kind) =>
    writeList(kind).catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  for (const result of await Promise.allSettled(writes)) if (result.status === 'rejected') throw result.reason;
}

/**
 * Fails an attempt that cannot continue, within the time reserved for failing it. If its completion took effect and
 * only the response was lost, the outcome is that completion.
 */
async function fail({ key, record }: Attempt, error: unknown): Promise<KeyOutcome> {
  const failure = getErrorMessage(error);
  const cause = classifyFailure(error, key.db.context.signal);
  try {
    return await applyWithinReserve(key, { kind: 'fail', attempt: record, failure, cause });
  } catch (notStored) {
    // If the failure was not stored, the sweep acts on the attempt after the lease has expired.
    const reason = `${failure}; the failure may not have been stored: ${getErrorMessage(notStored)}`;
    return { kind: 'failed', reason, recovery: SWEEP_RECOVERY };
  }
}

function classifyFailure(error: unknown, signal: AbortSignal): FailureCause {
  if (signal.aborted) return signal.reason instanceof StoppedError ? 'stopped' : 'timeout';
  return isTransient(error) ? 'unavailable' : 'error';
}
