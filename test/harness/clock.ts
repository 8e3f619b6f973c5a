import { systemClock, type Clock } from '../../functions/src/lib/clock';

/**
 * The time of a test, for Firestore and for the process. It passes only when the test advances it or
 * code sleeps. A sleep ends at once.
 */
export class ManualClock implements Clock {
  /** The length of each sleep, in milliseconds. */
  readonly slept: number[] = [];
  /** Timeouts are real, because the database calls are. */
  readonly createTimeout = systemClock.createTimeout;
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /** The time of Firestore, in Unix milliseconds. */
  now(): number {
    return this.#now;
  }

  /** Counts from an arbitrary moment, as the clock of a process does. */
  elapsedMs(): number {
    return this.#now - 1_700_000_000_123;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.slept.push(ms);
    this.advance(ms);
    return Promise.resolve();
  }
}
