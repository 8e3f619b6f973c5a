import { systemClock, type Clock } from './clock';

/** Calls of one request to Firestore, and what their retries follow. */
export interface CallContext {
  callCount: number;
  /** Documents that its queries have brought. */
  documentCount: number;
  /** Aborts when the request's time is up. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Uniform in [0, 1), like Math.random. */
  readonly random: () => number;
}

export const createCallContext = (signal: AbortSignal): CallContext => ({
  callCount: 0,
  documentCount: 0,
  signal,
  clock: systemClock,
  random: Math.random,
});
