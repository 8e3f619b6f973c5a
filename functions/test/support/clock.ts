import { systemClock, type Clock } from '../../src/lib/clock';
import { CALL_TIMEOUTS_MS } from '../../src/lib/time-limits';

/** A clock that moves only when a test advances it or code sleeps. A sleep ends at once. */
export class ManualClock implements Clock {
  /** The length of each sleep, in milliseconds. */
  readonly slept: number[] = [];
  /** Timeouts are real, because the database calls are. */
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

/** Makes time pass faster by this factor for the service in this process, including leases, pauses and timeouts. */
export function speedUpTime(factor: number): void {
  const { now, sleep, createTimeout } = systemClock;
  const startedAt = now();
  Object.assign(systemClock, {
    now: () => startedAt + (now() - startedAt) * factor,
    sleep: (ms, signal) => sleep(ms / factor, signal),
    createTimeout: (ms, ...reasons) => createTimeout(ms / factor, ...reasons),
  } satisfies Clock);
  // gRPC has its own deadline for a commit.
  jest.replaceProperty(CALL_TIMEOUTS_MS, 'commit', CALL_TIMEOUTS_MS.commit / factor);
}
