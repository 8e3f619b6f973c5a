import type { Clock } from '../clock';

/**
 * Tries a call to Firestore again after an error that says nothing of the call itself. Only for what may be done twice:
 * reads, writes of fixed values to fixed ids, and steps of a key, which begin by reading what an earlier try left.
 */

/** gRPC status codes after which the same call may succeed. */
const TRANSIENT_CODES = new Set<unknown>([
  1, // CANCELLED
  2, // UNKNOWN
  4, // DEADLINE_EXCEEDED
  8, // RESOURCE_EXHAUSTED
  10, // ABORTED
  13, // INTERNAL, also a dropped connection
  14, // UNAVAILABLE
  16, // UNAUTHENTICATED, while a token is renewed
]);

/** gRPC status codes of a step whose record is no longer the one that was read: read again, it may be taken. */
const CONFLICT_CODES = new Set<unknown>([
  6, // ALREADY_EXISTS
  9, // FAILED_PRECONDITION
]);

const MAX_TRIES = 6;
const INITIAL_DELAY_MS = 250;
/** No try starts later than this after the first. */
const MAX_ELAPSED_MS = 60_000;

/** What a retry depends on: time, chance, and the caller's own end. */
export interface RetryOptions {
  clock: Clock;
  /** Uniform in [0, 1), like Math.random. */
  random: () => number;
  signal: AbortSignal;
}

/**
 * The result of the call, tried up to six times within a minute, with delays that double from a quarter of a second,
 * each by chance between half of that and the whole. Ends with the signal's reason as soon as it aborts, also while a
 * try is under way: that try's effect is then unknown. A try of several calls is given the signal, to go no further.
 *
 * @throws the last error
 */
export async function retry<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { clock, random, signal }: RetryOptions,
): Promise<T> {
  const retryUntil = clock.now() + MAX_ELAPSED_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await abortable(signal, call);
    } catch (error) {
      const delay = INITIAL_DELAY_MS * 2 ** (tries - 1) * (0.5 + random() / 2);
      const last = tries === MAX_TRIES || clock.now() + delay > retryUntil;
      if (last || signal.aborted || !(isTransient(error) || hasCode(CONFLICT_CODES, error))) throw error;
      await clock.sleep(delay, signal);
    }
  }
}

/** Whether the error says nothing of the call that it came of. */
export const isTransient = (error: unknown): boolean => hasCode(TRANSIENT_CODES, error);

const hasCode = (codes: ReadonlySet<unknown>, error: unknown): boolean =>
  error instanceof Error && 'code' in error && codes.has(error.code);

/** The call's result, unless the signal aborts first; the call itself is not undone by that. */
async function abortable<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([call(signal), promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
