import { write, type LogSeverity } from 'firebase-functions/logger';

/**
 * The folder holds everything that the service logs: one function per event, and nothing else writes.
 * API keys, payloads, prices and names are never among the parameters, so they cannot be logged. See
 * docs/operations.md#log-entries.
 */

export type { LogSeverity };

export const logEvent = (severity: LogSeverity, event: string, fields: object, message = event.replaceAll('_', ' ')) =>
  write({ severity, message, event, ...fields });

/** Marks a line about a key that waits for an operator. Alerts count it; the sweep resolves the others. */
export const toOperatorField = (needsOperator: boolean) => (needsOperator ? { needs_operator: true } : {});

/**
 * Removes what Firestore's messages may reveal of a document: from its path on, which names
 * products, and from the first quotation mark on, after which a value may follow.
 */
export const redact = (message: string): string => message.replace(/(\/documents\/|").*/s, '$1…');
