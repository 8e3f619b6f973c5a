import { logEvent } from './event';

/** This instance has loaded its function. */
export const logInstanceStarted = (entry: { version: string; commit: string; node: string }) =>
  logEvent('INFO', 'instance_started', entry);

/** The API key setting has lines that are no key. @param lines their numbers, from 1; never their text */
export const logApiKeyLinesIgnored = (lines: readonly number[]) =>
  logEvent('ERROR', 'api_key_lines_ignored', { lines });

/** The platform stops this instance. @param requests in progress */
export const logInstanceStopping = (requests: number) => logEvent('INFO', 'instance_stopping', { requests });

/** This instance exits. @param unanswered requests whose responses are not complete */
export const logInstanceStopped = (unanswered: number, duration_ms: number) =>
  logEvent(unanswered > 0 ? 'WARNING' : 'INFO', 'instance_stopped', { unanswered, duration_ms });
