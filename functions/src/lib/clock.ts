import { setTimeout as sleep } from 'node:timers/promises';

/** The one source of time and of timers. What compares or stores the time of a record, or waits to try again, receives it. */
export type Clock = typeof systemClock;

export const systemClock = {
  /** Unix milliseconds. */
  now: Date.now,

  /** Resolves after `ms` milliseconds, or rejects as soon as the signal aborts. */
  sleep: (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }),

  /**
   * Creates a signal that aborts after `ms` milliseconds, or with a parent. Unlike one of
   * `AbortSignal.timeout` it can be cancelled, and must be: until then the timer holds the request,
   * through the `node:domain` of the Functions Framework.
   *
   * @param createReason makes the signal's reason after `ms`
   */
  createTimeout: (ms: number, createReason: () => Error, ...parents: AbortSignal[]) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(createReason()), ms);
    return { signal: AbortSignal.any([controller.signal, ...parents]), cancel: () => clearTimeout(timer) };
  },
};

/** Rejects when the signal aborts first, without undoing the call. */
export async function abortable<T>(signal: AbortSignal, fn: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([promise, fn()]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
