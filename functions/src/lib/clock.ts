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

export interface Timeout {
  signal: AbortSignal;
  /** Aborts the signal before its time. */
  abort: (reason: Error) => void;
  /** Must be called: until then the timer holds the request, through the `node:domain` of the Functions Framework. */
  cancel: () => void;
}

/**
 * Creates a signal that aborts after `ms` milliseconds, or with its parent. Unlike one of `AbortSignal.timeout` it can be
 * cancelled.
 *
 * @param createReason makes the signal's reason after `ms`
 */
export function createTimeout(ms: number, createReason: () => Error, parent?: AbortSignal): Timeout {
  const controller = new AbortController();
  const abort = (reason: Error) => controller.abort(reason);
  const abortWithParent = () => abort(parent?.reason as Error);
  const timer = setTimeout(() => abort(createReason()), ms);
  parent?.addEventListener('abort', abortWithParent);
  if (parent?.aborted === true) abortWithParent();
  const cancel = () => {
    clearTimeout(timer);
    parent?.removeEventListener('abort', abortWithParent);
  };
  return { signal: controller.signal, abort, cancel };
}
