import { logEvent } from './event';

export const logInstanceStarted = (entry: { version: string; commit: string; node: string }) =>
  logEvent('INFO', 'instance_started', entry);

/** @param lines numbers of the ignored lines, from 1; never the text of a line */
export const logApiKeyLinesIgnored = (lines: readonly number[]) =>
  logEvent('ERROR', 'api_key_lines_ignored', { lines });

export const logInstanceStopping = (requests: number) => logEvent('INFO', 'instance_stopping', { requests });

/**
 * Logged when the process exits, as the last line of an instance.
 *
 * @param entry `exit_code` is not 0 after an error that nothing handled. `unanswered` is the number of handlers that are still running
 */
export const logInstanceStopped = (entry: { exit_code: number; unanswered: number }) => {
  const severity = entry.exit_code !== 0 ? 'ERROR' : entry.unanswered > 0 ? 'WARNING' : 'INFO';
  logEvent(severity, 'instance_stopped', entry);
};
