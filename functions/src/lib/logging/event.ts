import { write, type LogSeverity } from 'firebase-functions/logger';

/**
 * Only the functions in this folder write to the log. None has a parameter for API keys, payloads, prices, or the
 * names of lists and markets, so that these are never logged. See docs/operations.md#log-entries.
 */

export type { LogSeverity };

export const logEvent = (severity: LogSeverity, event: string, fields: object, message = event.replaceAll('_', ' ')) =>
  write({ severity, message, event, ...fields });

/** Marks a log line about a key that needs an operator, because the sweep will not resume its attempt. */
export const toOperatorField = (needsOperator: boolean) => (needsOperator ? { needs_operator: true } : {});
