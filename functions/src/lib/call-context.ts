/** Calls of one request to Firestore, and the signal that ends them. */
export interface CallContext {
  callCount: number;
  /** Documents that its queries have brought. */
  documentCount: number;
  /** Aborts when the request's time is up. */
  readonly signal: AbortSignal;
}

export const createCallContext = (signal: AbortSignal): CallContext => ({ callCount: 0, documentCount: 0, signal });
