import { write } from 'firebase-functions/logger';
import type { PriceListLogger } from '../price-lists/create-price-lists';
import type { ApiError } from './errors';
import type { Attempt } from './schemas/key-record';

/**
 * Everything that the service logs: one function an event. Nothing else writes, so what never may be logged (keys,
 * payloads, prices, names of customers) is kept out here, by never being among the parameters.
 */

/** One line for each request, whatever became of it. */
export interface RequestLogEntry {
  operation: string;
  request_id: string;
  method: string;
  status: number;
  duration_ms: number;
  /** Calls to Firestore, as far as the operation counts them. */
  firestore_calls: number;
  /** Records answered or products accepted. */
  count: number | undefined;
  replayed: boolean | undefined;
  error: ApiError | undefined;
}

export function logRequest({ error, ...line }: RequestLogEntry): void {
  const outcome = error === undefined ? {} : { error_code: error.code, reason: redact(error.message) };
  const severity = line.status >= 500 ? 'ERROR' : line.status >= 400 ? 'NOTICE' : 'INFO';
  const cause = line.status >= 500 && error !== undefined ? { stack: formatStack(error) } : {};
  write({
    severity,
    message: `${line.operation} answered ${line.status}`,
    event: 'request',
    ...line,
    ...outcome,
    ...cause,
  });
}

/** Where an error came from, without its text, which stands beside it as the reason. */
function formatStack(error: ApiError): string {
  const { stack = '' } = error.cause instanceof Error ? error.cause : error;
  return stack.slice(stack.indexOf('\n    at ') + 1);
}

/**
 * An internal text without what Firestore's errors may say of a document: from its path on, which names products, and
 * from the first quotation mark on, behind which stands a value.
 */
const redact = (text: string): string => text.replace(/(\/documents\/|").*/s, '$1…');

/** The life of a price list, one line for each step, under the request's id and the record's ids, never the key. */
export function createPriceListLogger(request_id: string): PriceListLogger {
  const line = (severity: 'INFO' | 'WARNING' | 'ERROR', event: string, attempt: Attempt, more: object = {}) => {
    const { document_id, products_count, creation } = attempt;
    const list_id = creation?.price_list_id ?? null;
    write({
      severity,
      message: event.replaceAll('_', ' '),
      event,
      request_id,
      document_id,
      list_id,
      products_count,
      ...more,
    });
  };
  return {
    claimed: (attempt) => line('INFO', 'price_list_claimed', attempt),
    finished: (attempt) => line('INFO', 'price_list_finished', attempt),
    failed: (attempt, reason) => line('ERROR', 'price_list_failed', attempt, { reason: redact(reason) }),
    superseded: (attempt, found) => line('WARNING', 'price_list_superseded', attempt, { found }),
  };
}
