import { retry } from '../lib/firestore/retry';
import type { KeySnapshot } from '../lib/repositories/price-lists';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';
import { LEASE_DURATION_MS, RENEWAL_INTERVAL_MS } from '../lib/time-limits';
import type { KeyEvent, KeyOutcome } from './key-state-machine';
import type { KeyStore } from './key-store';

/** How many entries of both lists are written. */
export type WrittenEntries = Pick<Progress, 'entries_written' | 'entries_total'>;

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
  /** The key as it was read since the last write of this attempt to it. */
  #key: KeySnapshot | undefined;
  /** Stored by each renewal. */
  #progress: Omit<Progress, 'measured_at'>;

  constructor(
    readonly attempt: KeyRecord,
    readonly keys: KeyStore,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
    this.#progress = { entries_written: 0, entries_total: 0, started_at: keys.context.clock.now() };
  }

  /** Calls `write`, and again after a transient error until the signal aborts, as an outage costs time, not the attempt. */
  run<T>(write: () => Promise<T>): Promise<T> {
    const writeUnderLease = async () => {
      await this.renewIfDue();
      return write();
    };
    return retry(writeUnderLease, this.keys.context, 'attempt');
  }

  /** Reads the key beside other work, so that the event after it needs no read. An error is none: that event then reads. */
  async readAhead(): Promise<void> {
    const read = async () => {
      await this.renewIfDue();
      return this.keys.read();
    };
    this.#key = await read().catch(() => undefined);
  }

  /** Applies an event of the owner. @param createEvent for each try, at its time */
  apply(createEvent: (now: number) => KeyEvent): Promise<KeyOutcome> {
    return this.run(() => {
      const known = this.#key;
      this.#key = undefined;
      return this.keys.tryApply(createEvent(this.keys.context.clock.now()), { known });
    });
  }

  /** The writing of entries begins. @returns the progress, as after each batch */
  startProgress(entries_total: number): WrittenEntries {
    this.#progress = { entries_written: 0, entries_total, started_at: this.keys.context.clock.now() };
    return this.#progress;
  }

  /** So many more entries are written. */
  addProgress(entries: number): WrittenEntries {
    this.#progress.entries_written += entries;
    return this.#progress;
  }

  /** @throws Error if another event was applied to the key, or the error of the renewal, which the retry around it handles */
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
    this.#key = undefined;
    const progress = { ...this.#progress };
    const outcome = await this.keys.tryApply({ kind: 'renewed', attempt: this.attempt, progress });
    if (outcome.kind !== 'owned') {
      throw new Error('another event was applied to the key after the lease of the attempt expired');
    }
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
