import { systemClock, type Clock } from '../../src/lib/clock';
import { CALL_TIMEOUTS_MS } from '../../src/lib/time-limits';

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

/**
 * Has time pass so many times faster for the service in this process: leases, pauses, timeouts and
 * reserves alike shrink by this one factor.
 */
export function speedUpTime(factor: number): void {
  const { now, sleep, createTimeout } = systemClock;
  const startedAt = now();
  Object.assign(systemClock, {
    now: () => startedAt + (now() - startedAt) * factor,
    sleep: (ms, signal) => sleep(ms / factor, signal),
    createTimeout: (ms, ...reasons) => createTimeout(ms / factor, ...reasons),
  } satisfies Clock);
  // The deadline that gRPC has for it.
  jest.replaceProperty(CALL_TIMEOUTS_MS, 'commit', CALL_TIMEOUTS_MS.commit / factor);
}
