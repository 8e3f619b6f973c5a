import type { RequestContext } from '../request-context';
import { isOverload } from './retry';

const INITIAL_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** Part of the pause that is left after a call without an overload; below the minimum it ends. */
const RECOVERY = 0.9;
const MIN_PAUSE_MS = 10;

/**
 * Slows down calls that Firestore rejects as too many (RESOURCE_EXHAUSTED): each such error doubles the pause before every
 * further call, and each success shortens it by a tenth.
 */
export class AdaptiveThrottle {
  #pauseMs = 0;

  constructor(private readonly context: RequestContext) {}

  /** Calls `fn` after the current pause. */
  async call<T>(fn: () => Promise<T>): Promise<T> {
    if (this.#pauseMs > 0) await this.context.clock.sleep(this.#pauseMs, this.context.signal);
    try {
      const result = await fn();
      this.#pauseMs = shortenPause(this.#pauseMs);
      return result;
    } catch (error) {
      if (isOverload(error)) this.#pauseMs = lengthenPause(this.#pauseMs);
      throw error;
    }
  }
}

/** The pause after a call without an overload. */
export function shortenPause(ms: number): number {
  const shorter = ms * RECOVERY;
  return shorter < MIN_PAUSE_MS ? 0 : shorter;
}

/** The pause after an overload. */
export const lengthenPause = (ms: number): number => Math.min(Math.max(2 * ms, INITIAL_PAUSE_MS), MAX_PAUSE_MS);
