/** The time limits that depend on each other, in milliseconds. */

/** The timeout of a call, after which it fails with DEADLINE_EXCEEDED. */
export const CALL_TIMEOUTS_MS = {
  /** A read of documents, the count of keys in review, or the wait for the next document of an SDK query. */
  read: 10_000,
  commit: 20_000,
  /**
   * One call of a query, or a count of entries or of all keys. After this time, a query without the SDK
   * continues after its last document. It is long enough to notice a dead connection, and short enough for
   * a second try within the 120 s of a read operation.
   */
  query: 45_000,
};

/** One try of a key event, which reads the record and commits. */
const EVENT_MS = CALL_TIMEOUTS_MS.read + CALL_TIMEOUTS_MS.commit;

export const RENEWAL_INTERVAL_MS = 20_000;

/**
 * How long an attempt owns its key after its claim, a resume or a renewal. A commit that begins before
 * the next renewal is due ends within the lease. If calls hang, that renewal may come too late. The owner
 * then still owns the key until an event of someone else expires the lease.
 */
export const LEASE_DURATION_MS = RENEWAL_INTERVAL_MS + CALL_TIMEOUTS_MS.commit;

export const MAX_PAUSE_MS = 5_000;

/** Reserved for failing an attempt: an event whose response is lost, a pause, and a read that shows its effect. */
export const FAILURE_RESERVE_MS = EVENT_MS + MAX_PAUSE_MS + CALL_TIMEOUTS_MS.read;

/** Reserved for the response, after the reserve for failing the attempt. */
const RESPONSE_RESERVE_MS = 15_000;

/** Reserved for the response of a function that writes nothing. */
const READ_RESERVE_MS = 5_000;

/**
 * Returns how long a function can work before it stops itself, ahead of the platform's timeout.
 *
 * @param writes whether it needs time to fail its attempts
 */
export const getTimeLimitMs = ({ timeoutSeconds }: { timeoutSeconds: number }, writes: boolean): number =>
  timeoutSeconds * 1000 - (writes ? FAILURE_RESERVE_MS + RESPONSE_RESERVE_MS : READ_RESERVE_MS);

/** The steps of a stopping instance, by the time after SIGTERM. Cloud Run sends SIGKILL after 10 s. */
export const STOP_MS = {
  /** Aborts the creations and resumes that are still in progress. */
  abortWrites: 5_000,
  /** Ends reads, and stops waiting for creations. */
  stopWaiting: 8_000,
  exit: 9_000,
};

/** Reserved for failing an attempt when the instance stops. The time left until `stopWaiting` is for the response. */
export const STOP_RESERVE_MS = 2_000;

/**
 * The retry regimes. The last try begins at most this long after the first. Every call to Firestore
 * has a regime. A timeout or a stop of the work ends every regime except `reserve`, which is for the steps
 * after that.
 */
export const RETRY_MS = {
  /**
   * Covers an outage of almost a minute, or a connection that died silently. For the calls of resumes, sweeps,
   * audits and the command, and for queries without the SDK. Such a query counts the time again from the first
   * error after a document.
   */
  outage: 60_000,
  /** For the claim of a key, until the lease of a claim by the first try would expire. */
  claim: LEASE_DURATION_MS,
  /** For the writes of a creation after its claim, until its time is up, its instance stops or its lease is lost. */
  attempt: Infinity,
  /** For failing an attempt, for the event after a failed claim or resume, and for clearing `sweep_due_at`. */
  reserve: FAILURE_RESERVE_MS,
};

export type RetryRegime = keyof typeof RETRY_MS;

/** The time between two scheduled starts of the sweep. */
export const SWEEP_INTERVAL_MS = 60_000;

/** Assumed time from the start of a sweep until it resumes a due attempt. Part of the `Retry-After` of a client that waits for the sweep. */
export const SWEEP_START_MS = 5_000;

/** How long a sweep waits for a resume to end before it can query for more due keys. */
export const SWEEP_ASK_INTERVAL_MS = 10_000;
