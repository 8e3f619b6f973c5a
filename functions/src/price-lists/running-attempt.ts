import { retry } from '../lib/firestore/retry';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, RENEWAL_INTERVAL_MS } from '../lib/time-limits';
import type { HeldKey, KeyStore } from './key-store';

export class LeaseLostError extends Error {
  constructor() {
    super('another event was applied to the key after the lease of the attempt expired');
  }
}

/**
 * An attempt that this process carries out. {@link call} makes all its writes, except that of its failure.
 *
 * No timer renews the lease. Instead, each try of a call first renews it if that is due. So an instance
 * without CPU does not keep its lease, and a short attempt makes no extra call.
 */
export class RunningAttempt {
  /** The key record that the claim or the take-over stored. */
  readonly record: KeyRecord;
  #heldUntil: number;
  #renewal: Promise<void> | undefined;
  #progress: Progress = { entries_written: 0, entries_total: 0 };

  /** @param regime of its retries: `attempt` for a creation, because a client waits for it, otherwise `outage` */
  constructor(
    { record, heldUntil }: HeldKey,
    readonly keys: KeyStore,
    private readonly regime: 'attempt' | 'outage',
    private readonly onProgress: (progress: Progress) => void = () => undefined,
  ) {
    this.record = record;
    this.#heldUntil = heldUntil;
  }

  setProgress(progress: Progress): void {
    this.#progress = progress;
    this.onProgress(progress);
  }

  /** Renews the lease if that is due, for work that only reads. */
  keepLease(): Promise<void> {
    return this.call(() => Promise.resolve());
  }

  /** Makes a call under the lease, and repeats it after a transient error or a conflict. @throws LeaseLostError, or as `retry` does */
  call<T>(fn: () => Promise<T>): Promise<T> {
    const callUnderLease = async () => {
      await this.#renewIfDue();
      return fn();
    };
    return retry(callUnderLease, this.keys.context, this.regime);
  }

  async #renewIfDue(): Promise<void> {
    const { clock, signal } = this.keys.context;
    // After a slow renewal, the next one can be due at once.
    while (clock.elapsedMs() >= this.#heldUntil - LEASE_DURATION_MS + RENEWAL_INTERVAL_MS) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
      // The caller no longer waits for a try whose signal aborted, so the try must not write.
      signal.throwIfAborted();
    }
  }

  async #renew(): Promise<void> {
    const outcome = await this.keys.apply({ kind: 'renew', attempt: this.record, progress: this.#progress });
    if (outcome.kind !== 'owned') throw new LeaseLostError();
    this.#heldUntil = outcome.heldUntil;
  }
}
