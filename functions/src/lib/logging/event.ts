import { write, type LogSeverity } from 'firebase-functions/logger';

/**
 * This folder has one function for each event, and no other code writes to the log.
 * API keys, payloads, prices and the names of lists and markets are never among the parameters, so they cannot be
 * logged. See docs/operations.md#log-entries.
 */

export type { LogSeverity };

export const logEvent = (severity: LogSeverity, event: string, fields: object, message = event.replaceAll('_', ' ')) =>
  write({ severity, message, event, ...fields });

/** Marks a log line about a key that waits for an operator. Alerts count it, because the sweep resolves all others. */
export const toOperatorField = (needsOperator: boolean) => (needsOperator ? { needs_operator: true } : {});

/**
 * Removes what a message of Firestore may reveal about a document. Cuts the message at the document's
 * path, which names products, or at the first quotation mark, which a value may follow.
 */
export const redact = (message: string): string => message.replace(/(\/documents\/|").*/s, '$1…');
