import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The elapsed time and timers of this process, which tests can replace. The times that key records hold come from
 * Firestore with each read.
 */
export type Clock = typeof systemClock;

export const systemClock = {
  /** Milliseconds since a fixed moment. Never decreases, and can stand still while the machine is suspended. */
  elapsedMs: () => performance.now(),

  sleep: (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }),

  /**
   * Creates a signal that aborts after `ms` milliseconds, or when a parent aborts. The caller must call `cancel`,
   * or the timer stays in memory until it fires. `AbortSignal.timeout` is not used, because its timer cannot be cancelled.
   *
   * @param createReason creates the reason with which the signal aborts after `ms`
   */
  createTimeout: (ms: number, createReason: () => Error, ...parents: AbortSignal[]) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(createReason()), ms);
    return { signal: AbortSignal.any([controller.signal, ...parents]), cancel: () => clearTimeout(timer) };
  },
};

/** Returns the result of `fn`, or rejects as soon as the signal aborts. If `fn` has begun, it continues, but its result is lost. */
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
