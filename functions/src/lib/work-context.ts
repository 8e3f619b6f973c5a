import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from './clock';

/** What a request, a command or a sweep depends on, besides its arguments and the database. */
export interface WorkContext {
  /** Aborts when the work has to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  /** Creates a random owner token. */
  readonly newToken: () => string;
  readonly sizes: WriteSizes;
  /** Trace id of the request, 32 hex digits; null without one. */
  readonly traceId: string | null;
  readonly counters: Counters;
}

/** Tests can pass smaller sizes. */
export type WriteSizes = typeof WRITE_SIZES;

export const WRITE_SIZES = {
  /** Maximum number of entries in one batch (docs/architecture.md#a-creation-step-by-step). */
  batchEntries: 500,
  /** Maximum size of a chunk of a payload. A Firestore document holds at most 1 MiB, including its name. */
  chunkBytes: 1_000_000,
};

export interface Counters {
  firestoreCalls: number;
  /** Number of retries. A retry can repeat several calls. */
  retries: number;
  phasesMs: Partial<Record<Phase, number>>;
}

/**
 * The first four are phases of a creation, in this order. A read with a body has the first too. The last two are waits
 * for documents and for the client.
 */
export type Phase = 'body' | 'claim' | 'entries' | 'completion' | 'firestore' | 'client';

export async function measurePhase<T>({ phasesMs }: Counters, phase: Phase, fn: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await fn();
  } finally {
    phasesMs[phase] = (phasesMs[phase] ?? 0) + performance.now() - startedAt;
  }
}

export const createWorkContext = (signal: AbortSignal, traceId: string | null = null): WorkContext => ({
  signal,
  clock: systemClock,
  random: Math.random,
  newToken: randomUUID,
  sizes: WRITE_SIZES,
  traceId,
  counters: { firestoreCalls: 0, retries: 0, phasesMs: {} },
});
