import type { KeyRecord } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, RENEWAL_INTERVAL_MS } from '../lib/time-limits';
import type { MeasuredProgress } from './key-state-machine';
import type { KeyStore } from './key-store';

/** Another event was applied to the key after the lease of the attempt expired. */
export class LeaseLostError extends Error {
  constructor() {
    super('another event was applied to the key after the lease of the attempt expired');
  }
}

/**
 * The lease of an attempt, through which all its writes go.
 *
 * Renewals follow the clock and the work, not a timer: every try of the work first waits for the
 * renewal once it is due. So no try starts under a lease that was not renewed, an instance without
 * CPU holds no key, and an attempt that is over before the first renewal makes no call for it.
 */
export class Lease {
  #expiresAt: number;
  #renewal: Promise<void> | undefined;

  /** @param getProgress what each renewal stores */
  constructor(
    private readonly attempt: KeyRecord,
    private readonly keys: KeyStore,
    private readonly getProgress: () => MeasuredProgress,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
  }

  /** As the last renewal has stored it. */
  get expiresAt(): number {
    return this.#expiresAt;
  }

  /** Calls `write` once the lease is renewed, if that is due: one try of both. */
  async run<T>(write: () => Promise<T>): Promise<T> {
    await this.renewIfDue();
    return write();
  }

  /** @throws LeaseLostError, or the error of the renewal */
  async renewIfDue(): Promise<void> {
    const { clock, signal } = this.keys.context;
    // A renewal that took long may leave a lease that is due again.
    while (clock.now() >= this.#expiresAt - LEASE_DURATION_MS + RENEWAL_INTERVAL_MS) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
      // The workflow no longer waits for a try whose signal aborted: it neither renews again nor
      // writes.
      signal.throwIfAborted();
    }
  }

  async #renew(): Promise<void> {
    const outcome = await this.keys.apply({ kind: 'renew', attempt: this.attempt, progress: this.getProgress() });
    if (outcome.kind !== 'owned') throw new LeaseLostError();
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
