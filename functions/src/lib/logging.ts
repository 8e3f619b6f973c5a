import { write } from 'firebase-functions/logger';
import type { PriceListLog } from '../price-lists/workflow';
import type { ServiceError } from './http/errors';
import type { Attempt } from './schemas/key-record';

/**
 * Everything that the service logs: one function an event. Nothing else writes, so what never may be logged (keys,
 * payloads, prices, names of customers) is kept out here, by never being among the parameters.
 */

/** One line for each request, whatever became of it. */
export interface RequestLine {
  operation: string;
  request_id: string;
  method: string;
  status: number;
  duration_ms: number;
  /** Calls to Firestore, as far as the operation counts them. */
  firestore_calls: number;
  /** Records answered or products accepted. */
  count?: number;
  replayed: boolean | undefined;
  error: ServiceError | undefined;
}

export function logRequest({ error, ...line }: RequestLine): void {
  const outcome = error === undefined ? {} : { error_code: error.code, reason: error.message };
  const severity = line.status >= 500 ? 'ERROR' : line.status >= 400 ? 'NOTICE' : 'INFO';
  const cause = line.status >= 500 && error !== undefined ? { stack: stackOf(error) } : {};
  write({
    severity,
    message: `${line.operation} answered ${line.status}`,
    event: 'request',
    ...line,
    ...outcome,
    ...cause,
  });
}

const stackOf = (error: ServiceError) => (error.cause instanceof Error ? error.cause.stack : error.stack);

/** The life of a price list, one line for each step, under the request's id and the record's ids, never the key. */
export function priceListLog(request_id: string): PriceListLog {
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
    failed: (attempt, reason) => line('ERROR', 'price_list_failed', attempt, { reason }),
    superseded: (attempt, found) => line('WARNING', 'price_list_superseded', attempt, { found }),
  };
}
