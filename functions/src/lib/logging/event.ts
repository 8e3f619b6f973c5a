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

/** Cloud Logging rejects an entry of more than 256 KiB. */
const MAX_REASON_LENGTH = 1_000;

/**
 * Removes what a message may reveal about a document. Cuts it at the first path of a document, which can name a product,
 * or at the first character that is not plain, such as a quotation mark, which a value can follow.
 */
export const redact = (message: string): string =>
  message.slice(0, MAX_REASON_LENGTH).replace(/(?:(\/documents\/)|[^\w\s.,:;()/=?&%+-]).*/s, '$1…');
