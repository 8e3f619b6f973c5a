import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from './clock';

/** What the work of one request, of one command or of one sweep depends on, besides its arguments and the database. */
export interface RequestContext {
  /** Aborts when the work has to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Creates a token that no other attempt ever had. */
  readonly newToken: () => string;
  /** Trace of the request, 32 hex digits; null without one. */
  readonly traceId: string | null;
  /** For the log line of the request. */
  readonly counters: Counters;
}

/** What a request has done so far. */
export interface Counters {
  firestoreCalls: number;
  /** Records in the response. */
  records: number;
}

export const createRequestContext = (signal: AbortSignal, traceId: string | null = null): RequestContext => ({
  signal,
  clock: systemClock,
  random: Math.random,
  newToken: randomUUID,
  traceId,
  counters: { firestoreCalls: 0, records: 0 },
});
