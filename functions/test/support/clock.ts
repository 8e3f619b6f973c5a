import { systemClock, type Clock } from '../../src/lib/clock';

/** A clock that only moves when a test moves it or a sleep is requested; a sleep ends at once. */
export class ManualClock implements Clock {
  /** How long each sleep was, in milliseconds. */
  readonly slept: number[] = [];
  /** Calls of the database are real, so their timeouts are. */
  readonly createTimeout = systemClock.createTimeout;
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
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
