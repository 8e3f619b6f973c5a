import { retry } from '../lib/firestore/retry';
import type { KeyRecord } from '../lib/schemas/key-record';
import type { RETRY_MS } from '../lib/time-limits';
import type { KeyStore } from './key-store';
import { Lease } from './lease';
import { ProgressMeter, type WrittenEntries } from './progress';

/** The retry regime of an attempt: `attempt` for a creation, for which a client waits, else `resume`. */
type AttemptRegime = Extract<keyof typeof RETRY_MS, 'attempt' | 'resume'>;

/** The state that the steps of a running attempt share. */
export class RunningAttempt {
  readonly lease: Lease;
  readonly progress: ProgressMeter;

  /** @param record the key record that the claim or the take-over stored */
  constructor(
    readonly record: KeyRecord,
    readonly keys: KeyStore,
    private readonly regime: AttemptRegime,
    onProgress?: (written: WrittenEntries) => void,
  ) {
    this.progress = new ProgressMeter(keys.context.clock, onProgress);
    this.lease = new Lease(record, keys, () => this.progress.current);
  }

  /** Renews the lease, if that is due, for work that only reads. Tries again after a transient error. */
  keepLease(): Promise<void> {
    return this.call(() => Promise.resolve());
  }

  /** Makes a call under the lease, and repeats it after a transient error. */
  call<T>(fn: () => Promise<T>): Promise<T> {
    return retry(() => this.lease.run(fn), this.keys.context, this.regime);
  }
}
