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

/**
 * A signal that aborts after `ms` milliseconds, unless it is called off first, and it must be: what a timer holds, it
 * holds until then, and through the domain that the Functions Framework runs a handler in, it holds the whole request.
 * That is what `AbortSignal.timeout` cannot do.
 */
export function createTimeout(ms: number): { signal: AbortSignal; cancel: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error('the time for the request is up')), ms);
  return { signal: controller.signal, cancel: () => clearTimeout(timer) };
}
