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
 * The lease of an attempt. All writes of the attempt go through it.
 *
 * No timer renews the lease. Instead, each try first renews it if that is due. So no try starts under
 * an overdue lease, an instance without CPU holds no key, and a short attempt makes no call to renew.
 */
export class Lease {
  #expiresAt: number;
  #renewal: Promise<void> | undefined;

  /** @param getProgress returns the progress that a renewal stores */
  constructor(
    private readonly attempt: KeyRecord,
    private readonly keys: KeyStore,
    private readonly getProgress: () => MeasuredProgress,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
  }

  /** Tries once to renew the lease if that is due, and then to call `write`. */
  async run<T>(write: () => Promise<T>): Promise<T> {
    await this.renewIfDue();
    return write();
  }

  /** @throws LeaseLostError, or the error of the renewal */
  async renewIfDue(): Promise<void> {
    const { clock, signal } = this.keys.context;
    // After a slow renewal, the lease may be due again.
    while (clock.now() >= this.#expiresAt - LEASE_DURATION_MS + RENEWAL_INTERVAL_MS) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
      // The workflow no longer waits for a try whose signal aborted, so the try must not write.
      signal.throwIfAborted();
    }
  }

  async #renew(): Promise<void> {
    const outcome = await this.keys.apply({ kind: 'renew', attempt: this.attempt, progress: this.getProgress() });
    if (outcome.kind !== 'owned') throw new LeaseLostError();
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
