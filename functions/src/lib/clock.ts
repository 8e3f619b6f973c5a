import { setTimeout as timeout } from 'node:timers/promises';

/** The one source of time: everything that compares or stores a time is given it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => timeout(ms, undefined, { signal }),
};
