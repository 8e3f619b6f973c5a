import { status } from '@grpc/grpc-js';
import type { RequestContext } from '../request-context';
import { abortable } from '../clock';
import { StoppedError } from '../errors';
import { MAX_PAUSE_MS, RETRY_MS, type RetryRegime } from '../time-limits';

/**
 * Retries of calls to Firestore after transient errors, under the regimes of time-limits.ts. Only
 * for calls that may be executed twice: reads, writes of fixed values to fixed ids, and events of a
 * key, each try of which begins by reading the key record.
 */

/** After these the same call may succeed, for reads and writes. */
const TRANSIENT_CODES = new Set<unknown>([
  status.CANCELLED,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.INTERNAL, // also a dropped connection
  status.UNAVAILABLE,
  status.UNAUTHENTICATED, // while a token is renewed
]);

/** The key record has changed since it was read: the next try reads it again. */
const CONFLICT_CODES = new Set<unknown>([status.ALREADY_EXISTS, status.FAILED_PRECONDITION]);

const INITIAL_PAUSE_MS = 250;
/** After an overload, when a soon retry would add to it. */
const INITIAL_OVERLOAD_PAUSE_MS = 1_000;

/**
 * Calls `fn`, and again after a transient error or a conflict, with exponential backoff from 250 ms
 * to 5 s.
 *
 * Ends as soon as the signal aborts, even during a try, whose effect is then unknown. A try of
 * several calls checks the signal between them.
 *
 * @throws the last error of a try, also when time runs out; the signal's reason before any, and
 * when the work is stopped
 */
export async function retry<T>(fn: () => Promise<T>, context: RequestContext, regime: RetryRegime): Promise<T> {
  const { signal } = context;
  const backoff = new Backoff(context, regime);
  let lastError: unknown;
  for (;;) {
    try {
      return await abortable(signal, fn);
    } catch (error) {
      if (signal.aborted) throw getEndReason(signal, lastError ?? error);
      if (!(isTransient(error) || isConflict(error))) throw error;
      lastError = error;
      await backoff.wait(error);
    }
  }
}

/** What Firestore last answered tells why a call failed; that time ran out does not. A stop is a reason of its own. */
const getEndReason = (signal: AbortSignal, lastError: unknown): unknown =>
  signal.reason instanceof StoppedError ? signal.reason : lastError;

/** The pauses between the tries of one call. */
export class Backoff {
  #failures = 0;
  readonly #retryUntil: number;

  constructor(
    private readonly context: RequestContext,
    regime: RetryRegime,
  ) {
    this.#retryUntil = context.clock.now() + RETRY_MS[regime];
  }

  /** Waits before the next try. @throws `error` if there is no time for one; the reason of a stop when the signal aborts */
  async wait(error: unknown): Promise<void> {
    const { clock, counters, random, signal } = this.context;
    const pauseMs = getPauseMs(this.#failures, isOverload(error), random);
    this.#failures += 1;
    if (clock.now() + pauseMs > this.#retryUntil) throw error;
    try {
      await abortable(signal, () => clock.sleep(pauseMs, signal));
    } catch {
      throw getEndReason(signal, error);
    }
    counters.retries += 1;
  }
}

/** The pause after an error that follows so many others. */
export function getPauseMs(failures: number, afterOverload: boolean, random: () => number): number {
  const initialMs = afterOverload ? INITIAL_OVERLOAD_PAUSE_MS : INITIAL_PAUSE_MS;
  return Math.min(initialMs * 2 ** failures, MAX_PAUSE_MS) * (0.5 + random() / 2);
}

/** Whether the same call may succeed later. */
export const isTransient = (error: unknown): boolean => TRANSIENT_CODES.has(getCode(error));

/** Whether a commit failed because a record had changed since it was read. */
export const isConflict = (error: unknown): boolean => CONFLICT_CODES.has(getCode(error));

/** Whether Firestore rejected the call because it gets too many. */
const isOverload = (error: unknown): boolean => getCode(error) === status.RESOURCE_EXHAUSTED;

const getCode = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
