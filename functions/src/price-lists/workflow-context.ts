import type { Database } from '../lib/firestore/database';

/** What an attempt depends on besides its submission. */
export interface WorkflowContext {
  /** Its signal aborts when the attempt has to stop, early enough for it to be failed in {@link FAILURE_RESERVE_MS}. */
  db: Database;
  /** Creates a token that no other attempt ever had. */
  newToken: () => string;
}

/** Milliseconds of a request's time that are kept for failing its attempt. */
export const FAILURE_RESERVE_MS = 45_000;

/** Milliseconds of a request's time that are kept for the response, after those for failing the attempt. */
export const RESPONSE_RESERVE_MS = 15_000;

/** The database with the reserved time in place of what is left of the attempt's own. */
export const withReserveTime = (db: Database): Database => ({
  ...db,
  signal: AbortSignal.timeout(FAILURE_RESERVE_MS),
});
