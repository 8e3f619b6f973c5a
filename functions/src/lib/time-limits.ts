/**
 * The time limits that depend on each other, in milliseconds. A limit that follows from others is
 * computed from them.
 */

/** The timeout of one try of a call, after which the try fails with DEADLINE_EXCEEDED. */
export const CALL_TIMEOUTS_MS = {
  /** A read of documents, a count of records, or the wait for the next document of an SDK query. */
  read: 10_000,
  commit: 20_000,
  /**
   * One call of a query, which then continues after its last document, or a count of the entries of a
   * list. It is long enough to notice a dead connection, and short enough for a second try within the
   * 120 s of a read operation.
   */
  query: 45_000,
};

/** One try of a key event, which reads the record and commits. */
const EVENT_MS = CALL_TIMEOUTS_MS.read + CALL_TIMEOUTS_MS.commit;

export const RENEWAL_INTERVAL_MS = 20_000;

/**
 * How long an attempt owns its key after its claim and after each renewal. A commit that began before
 * the renewal was due ends within the lease. If calls hang, a renewal may come too late: the owner then
 * keeps the expired lease until another event meets it.
 */
export const LEASE_DURATION_MS = RENEWAL_INTERVAL_MS + CALL_TIMEOUTS_MS.commit;

export const MAX_PAUSE_MS = 5_000;

/** Reserved for failing an attempt: an event whose response is lost, a pause, and the read that shows its effect. */
export const FAILURE_RESERVE_MS = EVENT_MS + MAX_PAUSE_MS + CALL_TIMEOUTS_MS.read;

/** Reserved for the response, after the reserve for failing the attempt. */
const RESPONSE_RESERVE_MS = 15_000;

/** Reserved for the response of a function that writes nothing. */
const READ_RESERVE_MS = 5_000;

/**
 * Returns how long a function may work until it stops itself, ahead of the platform's timeout.
 *
 * @param writes whether it needs time to fail its attempts
 */
export const getTimeLimitMs = ({ timeoutSeconds }: { timeoutSeconds: number }, writes: boolean): number =>
  timeoutSeconds * 1000 - (writes ? FAILURE_RESERVE_MS + RESPONSE_RESERVE_MS : READ_RESERVE_MS);

/** The steps of a stopping instance, by the time after SIGTERM. Cloud Run sends SIGKILL after 10 s. */
export const STOP_MS = {
  /** Aborts writes in progress. Most have ended by then. */
  abortWrites: 5_000,
  /** Ends reads, and stops waiting for all other handlers. */
  stopWaiting: 8_000,
  exit: 9_000,
};

/** Reserved for failing an attempt when the instance stops. The time left until `stopWaiting` is for the response. */
export const STOP_RESERVE_MS = 2_000;

/**
 * The retry regimes: no try begins later than this after the first. All calls to Firestore have one.
 * A timeout or stop of the work ends every regime but `reserve`, which is for the steps after that.
 */
export const RETRY_MS = {
  /**
   * Covers an outage of almost a minute, or a connection that died silently. For queries without the SDK,
   * counted from their last document; for the calls of the command, the sweep and the audit; and for the writes
   * of a resume, which becomes due again if they fail.
   */
  outage: 60_000,
  /** The claim of a key, until the first try's claim would expire. `reserve` covers the read that shows whether a claim landed. */
  claim: LEASE_DURATION_MS,
  /** The writes of an attempt under its lease. An outage delays the attempt, and does not fail it. Ends if another event takes the key. */
  attempt: Infinity,
  /** The event that fails an attempt, and the last read after a claim. */
  reserve: FAILURE_RESERVE_MS,
};

export type RetryRegime = keyof typeof RETRY_MS;

/** The time from one sweep to the next. Sweeps begin at full minutes. */
export const SWEEP_INTERVAL_MS = 60_000;

/** How long after its start a sweep may resume an attempt. `Retry-After` includes this time. */
export const SWEEP_START_MS = 5_000;

/** How often a sweep reads which keys became due while resumes are in progress. */
export const SWEEP_ASK_INTERVAL_MS = 10_000;
