import { status } from '@grpc/grpc-js';
import type { WorkContext } from '../work-context';
import { abortable } from '../clock';
import { StoppedError } from '../errors';
import { MAX_PAUSE_MS, RETRY_MS, type RetryLimit } from '../time-limits';

/**
 * Retries calls to Firestore after transient errors and conflicts, within the limits of time-limits.ts. What is retried must
 * be safe to execute twice: a read, a write of fixed values to fixed ids, or an event of a key, which reads the
 * key record each time.
 */

const TRANSIENT_CODES = new Set<unknown>([
  status.CANCELLED,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.INTERNAL, // also a dropped connection
  status.UNAVAILABLE,
  status.UNAUTHENTICATED, // also an access token that has just expired
]);

/** The codes of a commit whose key record has changed since it was read. The retry reads the record again. */
const CONFLICT_CODES = new Set<unknown>([status.ALREADY_EXISTS, status.FAILED_PRECONDITION]);

const INITIAL_PAUSE_MS = 250;
/** The first pause after an overload is longer, because a quick retry would make the overload worse. */
const INITIAL_OVERLOAD_PAUSE_MS = 1_000;

/**
 * Calls `fn`, and calls it again after a transient error or a conflict, with exponential backoff.
 *
 * Ends as soon as the signal aborts, even while `fn` runs. The effect of the call in progress is then unknown. `fn` makes
 * no further call if its database has the same signal (database.ts).
 *
 * @throws the last error of `fn`, even if time has run out; the signal's reason if `fn` has not failed or
 * the work is stopped
 */
export async function retry<T>(fn: () => Promise<T>, context: WorkContext, limit: RetryLimit): Promise<T> {
  const { signal } = context;
  const backoff = new Backoff(context, limit);
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

/** Prefers the last error of Firestore, which explains a failure better than a timeout. A stop takes precedence. */
const getEndReason = (signal: AbortSignal, lastError: unknown): unknown =>
  signal.reason instanceof StoppedError ? signal.reason : lastError;

export class Backoff {
  #failures = 0;
  readonly #retryUntil: number;

  constructor(
    private readonly context: WorkContext,
    limit: RetryLimit,
  ) {
    this.#retryUntil = context.clock.elapsedMs() + RETRY_MS[limit];
  }

  /** Waits before the next retry. @throws `error` if no time is left or the signal aborts, but the signal's reason after a stop */
  async wait(error: unknown): Promise<void> {
    const { clock, counters, random, signal } = this.context;
    const pauseMs = getPauseMs(this.#failures, isOverload(error), random);
    this.#failures += 1;
    if (clock.elapsedMs() + pauseMs > this.#retryUntil) throw error;
    try {
      await abortable(signal, () => clock.sleep(pauseMs, signal));
    } catch {
      throw getEndReason(signal, error);
    }
    counters.retries += 1;
  }
}

function getPauseMs(failures: number, afterOverload: boolean, random: () => number): number {
  const initialMs = afterOverload ? INITIAL_OVERLOAD_PAUSE_MS : INITIAL_PAUSE_MS;
  return Math.min(initialMs * 2 ** failures, MAX_PAUSE_MS) * (0.5 + random() / 2);
}

export const isTransient = (error: unknown): boolean => TRANSIENT_CODES.has(getCode(error));

export const isConflict = (error: unknown): boolean => CONFLICT_CODES.has(getCode(error));

const isOverload = (error: unknown): boolean => getCode(error) === status.RESOURCE_EXHAUSTED;

const getCode = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
