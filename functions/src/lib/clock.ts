import { setTimeout as sleep } from 'node:timers/promises';

/** The one source of time. Everything that compares or stores a time receives it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/**
 * Creates a signal that aborts after `ms` milliseconds, by `abort`, or with its parent. Unlike one of `AbortSignal.timeout` it
 * can be cancelled, and must be: until then the timer holds the request, through the `node:domain` of the Functions Framework.
 *
 * @param createReason makes the signal's reason after `ms`
 */
export function createTimeout(ms: number, createReason: () => Error, parent?: AbortSignal) {
  const controller = new AbortController();
  const abort = (reason: Error) => controller.abort(reason);
  const timer = setTimeout(() => abort(createReason()), ms);
  const signal = parent === undefined ? controller.signal : AbortSignal.any([controller.signal, parent]);
  return { signal, abort, cancel: () => clearTimeout(timer) };
}
