/**
 * How long everything may take, in milliseconds. The limits stand in one place because they rely on
 * each other: one that follows from others is computed from them.
 */

/** Timeouts of one try of a call; after it the try fails with DEADLINE_EXCEEDED. */
export const CALL_TIMEOUTS_MS = {
  /** Read of known documents, count of records, and the longest wait for the next document of a query of records. */
  read: 10_000,
  commit: 20_000,
  /**
   * Call of a query, from its start to its last document; the query then continues after that. Also a
   * count of the entries of a list. Longer than a dead connection is noticed in, and so short that a
   * function of 120 s has time for another try.
   */
  query: 45_000,
};

/** An event of a key in one try: reads the record, and commits. */
const EVENT_MS = CALL_TIMEOUTS_MS.read + CALL_TIMEOUTS_MS.commit;

/** From one renewal of a lease until the next is due. */
export const RENEWAL_INTERVAL_MS = 20_000;

/** By how much the clocks of two instances may differ. */
const CLOCK_DIFFERENCE_MS = 10_000;

/**
 * How long an attempt owns its key after its claim and after each renewal. The longest commit that
 * began before the renewal was due ends within it, by any clock. When calls hang, a renewal comes
 * too late: the owner keeps a lapsed lease until someone else meets it.
 */
export const LEASE_DURATION_MS = RENEWAL_INTERVAL_MS + CALL_TIMEOUTS_MS.commit + CLOCK_DIFFERENCE_MS;

/** The longest pause between two tries. */
export const MAX_PAUSE_MS = 5_000;

/** Kept for failing an attempt: an event whose reply is lost, a pause, and the read that tells that it took effect. */
export const FAILURE_RESERVE_MS = EVENT_MS + MAX_PAUSE_MS + CALL_TIMEOUTS_MS.read;

/** Kept for the response, after what is kept for failing the attempt. */
export const RESPONSE_RESERVE_MS = 15_000;

/** What a stopping instance does how long after SIGTERM. Cloud Run sends SIGKILL after 10 s. */
export const STOP_MS = {
  /** Aborts the writes under way, most of which are over by then. */
  abortWrites: 5_000,
  /** Ends the reads, and the waiting for every other handler. */
  stopWaiting: 8_000,
  exit: 9_000,
};

/** Kept for failing an attempt when the instance stops. The rest, until the waiting stops, is for its response. */
export const STOP_RESERVE_MS = 2_000;

/** Covers an outage of nearly a minute, and a connection that died silently. */
const OUTAGE_MS = 60_000;

/**
 * The regimes of retries: no try begins later than this after the first. Calls to Firestore have
 * one of them, but for two that may fail: a read ahead, and a corrected `sweep_due_at`. The end of
 * the work (its time is up, it is stopped) ends them all, except `reserve`, which is for what
 * follows then.
 */
export const RETRY_MS = {
  /** Query of a read operation, counted from its last document. A try takes at most {@link CALL_TIMEOUTS_MS}.query. */
  query: OUTAGE_MS,
  /** What operators, sweeps and audits read and decide. A try takes at most {@link EVENT_MS}, or as long as a query. */
  standalone: OUTAGE_MS,
  /** Claim of a key: until a claim of the first try would lapse. What became of the last is then asked under `reserve`. */
  claim: LEASE_DURATION_MS,
  /** Writes of an attempt under its lease: an outage costs time, not the attempt. Ends early when another event takes the key. */
  attempt: Infinity,
  /** The same of a resume, for which no client waits: the key becomes due again, and others have their turn. */
  resume: OUTAGE_MS,
  /** The event that fails an attempt, and the last look for a claim. */
  reserve: FAILURE_RESERVE_MS,
};

export type RetryRegime = keyof typeof RETRY_MS;

/** From one sweep to the next: they begin at full minutes. */
export const SWEEP_INTERVAL_MS = 60_000;

/** After which time of a sweep a client may find that it resumed its attempt. */
export const SWEEP_START_MS = 5_000;

/** How often a sweep asks for what has become due while resumes are under way. */
export const SWEEP_ASK_INTERVAL_MS = 10_000;
