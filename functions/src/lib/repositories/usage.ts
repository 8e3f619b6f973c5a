/** What one request has asked of Firestore, and until when it may ask. */
export interface Usage {
  /** Calls that it has made. */
  calls: number;
  /** Documents that its queries have brought. */
  documents: number;
  /** Aborts when the request's time is up. */
  readonly signal: AbortSignal;
}

export const usageUntil = (signal: AbortSignal): Usage => ({ calls: 0, documents: 0, signal });
