import { logEvent } from './event';

export const logInstanceStarted = (entry: { version: string; commit: string; node: string }) =>
  logEvent('INFO', 'instance_started', entry);

/** @param lines their numbers, from 1; never their text */
export const logApiKeyLinesIgnored = (lines: readonly number[]) =>
  logEvent('ERROR', 'api_key_lines_ignored', { lines });

export const logInstanceStopping = (requests: number) => logEvent('INFO', 'instance_stopping', { requests });

/** @param unanswered number of handlers that are still running */
export const logInstanceStopped = (unanswered: number, duration_ms: number) =>
  logEvent(unanswered > 0 ? 'WARNING' : 'INFO', 'instance_stopped', { unanswered, duration_ms });
