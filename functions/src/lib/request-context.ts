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
  /** Tries after the first of a call. */
  retries: number;
  /** Records in the response. */
  records: number;
  phasesMs: Partial<Record<Phase, number>>;
}

/** What a request spends its time on: the first four one after another in a creation, the others in a read. */
export type Phase = 'body' | 'claim' | 'entries' | 'completion' | 'firestore' | 'client';

/** Adds the time that `fn` takes to that of a phase. */
export async function measurePhase<T>({ phasesMs }: Counters, phase: Phase, fn: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await fn();
  } finally {
    phasesMs[phase] = (phasesMs[phase] ?? 0) + performance.now() - startedAt;
  }
}

export const createRequestContext = (signal: AbortSignal, traceId: string | null = null): RequestContext => ({
  signal,
  clock: systemClock,
  random: Math.random,
  newToken: randomUUID,
  traceId,
  counters: { firestoreCalls: 0, retries: 0, records: 0, phasesMs: {} },
});
