import { AdaptiveThrottle } from '../lib/firestore/adaptive-throttle';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import type { RequestContext } from '../lib/request-context';
import { LEASE_DURATION_MS } from '../lib/runtime-options';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';
import { tryApplyEvent } from './apply-event';

/** The part of a lease that passes between two renewals. What is left covers the longest commit and clocks that differ. */
const RENEWAL_FRACTION = 2 / 5;

/** How many entries of both lists are written. */
export type WrittenEntries = Pick<Progress, 'entries_written' | 'entries_total'>;

/**
 * The lease of an attempt, through which all its writes go.
 *
 * Renewals follow the clock and the work, not a timer: every try of the work first waits for the renewal once it is due. So
 * no try starts under a lease that was not renewed, an instance without CPU holds no key, and an attempt that is over before
 * the first renewal makes no call for it.
 */
export class Lease {
  #expiresAt: number;
  #renewal: Promise<void> | undefined;
  readonly #throttle: AdaptiveThrottle;
  /** Stored by each renewal. */
  #progress: Omit<Progress, 'measured_at'>;

  constructor(
    private readonly attempt: KeyRecord,
    private readonly db: Database,
    private readonly context: RequestContext,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
    this.#throttle = new AdaptiveThrottle(context);
    this.#progress = { entries_written: 0, entries_total: 0, started_at: context.clock.now() };
  }

  /** Calls `write`, and again after a transient error until the signal aborts, as an outage costs time, not the attempt. */
  run<T>(write: () => Promise<T>): Promise<T> {
    const writeUnderLease = async () => {
      await this.renewIfDue();
      return write();
    };
    return retry(() => this.#throttle.call(writeUnderLease), this.context, Infinity);
  }

  /** The writing of entries begins. @returns the progress, as after each batch */
  startProgress(entries_total: number): WrittenEntries {
    this.#progress = { entries_written: 0, entries_total, started_at: this.context.clock.now() };
    return this.#progress;
  }

  /** So many more entries are written. */
  addProgress(entries: number): WrittenEntries {
    this.#progress.entries_written += entries;
    return this.#progress;
  }

  /** @throws Error if another event was applied to the key, or the error of the renewal, which the retry around it handles */
  async renewIfDue(): Promise<void> {
    // A renewal that took long may leave a lease that is due again.
    while (this.context.clock.now() >= this.#expiresAt - LEASE_DURATION_MS * (1 - RENEWAL_FRACTION)) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
      // The workflow no longer waits for a try whose signal aborted: it neither renews again nor writes.
      this.context.signal.throwIfAborted();
    }
  }

  async #renew(): Promise<void> {
    const { attempt, db, context } = this;
    const event = { kind: 'renewed', attempt, progress: { ...this.#progress } } as const;
    const outcome = await tryApplyEvent(attempt.boq_list_id, event, db, context);
    if (outcome.kind !== 'owned') {
      throw new Error('another event was applied to the key after the lease of the attempt expired');
    }
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
