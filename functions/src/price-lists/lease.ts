import type { Database } from '../lib/firestore/database';
import { Pace } from '../lib/firestore/pace';
import { retry } from '../lib/firestore/retry';
import { LEASE_DURATION_MS } from '../lib/runtime-options';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';
import { tryStep } from './key-steps';

/** The part of a lease that passes between two renewals. What is left covers the longest commit and clocks that differ. */
const RENEWAL_FRACTION = 2 / 5;

/**
 * Keeps the lease of an attempt while its work goes on.
 *
 * Renewals follow the clock and the work, not a timer: every try of the work first waits for the renewal once it is due. So
 * no try starts under a lease that was not renewed, an instance without CPU holds no key, and an attempt that is over before
 * the first renewal makes no call for it.
 */
export class Lease {
  #expiresAt: number;
  #renewal: Promise<void> | undefined;
  readonly #pace: Pace;
  /** Stored by each renewal. */
  progress: Omit<Progress, 'measured_at'>;

  constructor(
    private readonly attempt: KeyRecord,
    private readonly db: Database,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
    this.#pace = new Pace(db);
    this.progress = { entries_written: 0, entries_total: 0, started_at: db.clock.now() };
  }

  /** Calls `fn`, and again after a transient error until the signal aborts, as an outage costs time, not the attempt. */
  run<T>(fn: () => Promise<T>): Promise<T> {
    const work = async () => {
      await this.keep();
      return fn();
    };
    return retry(() => this.#pace.call(work), this.db, Infinity);
  }

  /** @throws Error if another step was taken on the key, or the error of the renewal, which the retry around it handles */
  async keep(): Promise<void> {
    // A renewal that took long may leave a lease that is due again.
    while (this.db.clock.now() >= this.#expiresAt - LEASE_DURATION_MS * (1 - RENEWAL_FRACTION)) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
    }
  }

  async #renew(): Promise<void> {
    const { attempt, db, progress } = this;
    const outcome = await tryStep(db, attempt.boq_list_id, { kind: 'renewed', attempt, progress: { ...progress } });
    if (outcome.kind !== 'owned') {
      throw new Error('another step was taken on the key after the lease of the attempt expired');
    }
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
