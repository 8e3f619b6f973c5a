/**
 * The time limits that depend on each other, in milliseconds.
 *
 *     a call on a connection that died silently
 *         0 s  the last byte arrives
 *        30    gRPC sends a ping                         KEEPALIVE_MS.interval
 *        40    without a reply, it replaces the connection           + timeout
 *        45    the longest call, a query, ends           CALL_TIMEOUTS_MS.query
 *        60    the last retry begins                     RETRY_MS.outage
 *
 *     a lease
 *         0 s  a claim, a resume or a renewal reads the key
 *        20    the next call renews the lease first      RENEWAL_INTERVAL_MS
 *        40    the lease ends, and with it each commit   + CALL_TIMEOUTS_MS.commit
 *              that began before the renewal was due     = LEASE_DURATION_MS
 *
 *     add price lists
 *     1,125 s  the attempt stops itself                  getTimeLimitMs
 *     1,185    its failure is stored                     FAILURE_RESERVE_MS
 *     1,200    its response is sent                      RESPONSE_RESERVE_MS
 *
 *     a scheduled sweep
 *         0 s  the first pass begins; passes begin at    SWEEP_INTERVAL_MS
 *              least a minute apart
 *       600    the last resume begins                    1,725 s less 1,125 s
 *     1,725    the running resumes stop                  getTimeLimitMs
 */

/**
 * How long gRPC waits before it pings the server of a call, and how long it then waits for the reply. Google's own
 * clients ping every 30 s.
 */
export const KEEPALIVE_MS = { interval: 30_000, timeout: 10_000 };

/** The timeout of a call, after which it fails with DEADLINE_EXCEEDED. */
export const CALL_TIMEOUTS_MS = {
  /** A read of documents, or a query by the SDK. */
  read: 10_000,
  commit: 20_000,
  /**
   * One call of a query without the SDK, or a count of the entries of a list. The timeout is long enough to notice a dead
   * connection, and short enough for a second call within the 120 s of a read operation.
   */
  query: KEEPALIVE_MS.interval + KEEPALIVE_MS.timeout + 5_000,
};

/**
 * How long calls are retried. The last retry begins at most this long after the first call. A timeout or a stop of the work
 * ends the retries earlier.
 */
export const RETRY_MS = {
  /**
   * Covers an outage of almost a minute, or a connection that died silently. For a query of query.ts, the time begins
   * again after each call that found documents.
   */
  outage: 60_000,
  /**
   * For each write of a creation after its claim, except that of a failure. The retries end when the request times out,
   * its instance stops or its attempt has lost the key.
   */
  attempt: Infinity,
};

export type RetryLimit = keyof typeof RETRY_MS;

export const MAX_PAUSE_MS = 5_000;

export const RENEWAL_INTERVAL_MS = 20_000;

/**
 * How long only the owner can change a key after a claim, a resume or a renewal. If calls hang, a renewal can come later
 * than that. The owner can still renew the lease until the sweep or an operator acts on the key.
 */
export const LEASE_DURATION_MS = RENEWAL_INTERVAL_MS + CALL_TIMEOUTS_MS.commit;

/** Time reserved for failing an attempt, so that storing the failure is retried for as long as a claim. */
export const FAILURE_RESERVE_MS = RETRY_MS.outage;

/** Reserved for the response, after the reserve for failing the attempt. */
const RESPONSE_RESERVE_MS = 15_000;

/** Reserved for the response of a function that writes nothing. */
const READ_RESERVE_MS = 5_000;

/**
 * Returns how long a function can work before it stops itself, ahead of the platform's timeout.
 *
 * @param writes whether the function needs time to fail its attempts
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

/** The shortest time between two scheduled starts of the sweep, and between two passes of one sweep. */
export const SWEEP_INTERVAL_MS = 60_000;

/**
 * Assumed time from the start of a sweep until it resumes the attempt of a due key. Part of the `Retry-After` of a
 * client that waits for the sweep.
 */
export const SWEEP_START_MS = 5_000;
