import { randomUUID } from 'node:crypto';
import { systemClock } from './clock';

/** Calls of one request to Firestore, and what their retries follow. */
export type CallContext = ReturnType<typeof createCallContext>;

/** @param signal aborts when the request's time is up */
export const createCallContext = (signal: AbortSignal) => ({
  callCount: 0,
  /** Documents that its queries have brought. */
  documentCount: 0,
  signal,
  clock: systemClock,
  /** Uniform in [0, 1). */
  random: Math.random,
  /** Creates a token that no other attempt ever had. */
  newToken: (): string => randomUUID(),
});
