import { Pace } from '../lib/firestore/pace';
import { retry } from '../lib/firestore/retry';
import { LEASE_DURATION_MS } from '../lib/runtime-options';
import type { KeyRecord } from '../lib/schemas/key-record';
import { tryStep } from './key-steps';
import type { WorkflowContext } from './workflow-context';

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
  #progress = { entries_written: 0, entries_total: 0, started_at: 0 };

  constructor(
    private readonly attempt: KeyRecord,
    private readonly context: WorkflowContext,
  ) {
    this.#expiresAt = attempt.lease_expires_at;
    this.#pace = new Pace(context.db);
    this.expect(0);
  }

  /** Starts the progress that renewals store. @param entries of both lists, still to write */
  expect(entries: number): void {
    this.#progress = { entries_written: 0, entries_total: entries, started_at: this.context.db.clock.now() };
    this.advance(0);
  }

  advance(entries: number): void {
    this.#progress.entries_written += entries;
    this.context.onProgress?.(this.#progress);
  }

  /** Calls `fn`, and again after a transient error until the signal aborts, as an outage costs time, not the attempt. */
  run<T>(fn: () => Promise<T>): Promise<T> {
    const work = async () => {
      await this.keep();
      return fn();
    };
    return retry(() => this.#pace.call(work), this.context.db, Infinity);
  }

  /** @throws Error if another step was taken on the key, or the error of the renewal, which the retry around it handles */
  async keep(): Promise<void> {
    // A renewal that took long may leave a lease that is due again.
    while (this.context.db.clock.now() >= this.#expiresAt - LEASE_DURATION_MS * (1 - RENEWAL_FRACTION)) {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
      await this.#renewal;
    }
  }

  async #renew(): Promise<void> {
    const { attempt, context } = this;
    const event = { kind: 'renewed', attempt, progress: { ...this.#progress } } as const;
    const outcome = await tryStep(context.db, attempt.boq_list_id, event);
    if (outcome.kind !== 'owned') {
      throw new Error('another step was taken on the key after the lease of the attempt expired');
    }
    this.#expiresAt = outcome.record.lease_expires_at;
  }
}
