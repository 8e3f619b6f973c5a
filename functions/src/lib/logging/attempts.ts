import { logEvent, redact, toOperatorField, type LogSeverity } from './event';

/** The fields of an attempt that are logged. */
export interface LoggedAttempt {
  document_id: string;
  products_count: number;
  creation: { price_list_id: string } | null;
}

export type PriceListLogger = ReturnType<typeof createPriceListLogger>;

/** Logs the events of a price list under its request's id and its records' ids, never under its key. */
export function createPriceListLogger(request_id: string) {
  const log = (severity: LogSeverity, event: string, attempt: LoggedAttempt, more: object = {}) => {
    const { document_id, products_count, creation } = attempt;
    const ids = { request_id, document_id, price_list_id: creation?.price_list_id ?? null };
    logEvent(severity, event, { ...ids, products_count, ...more });
  };
  return {
    claimed: (attempt: LoggedAttempt) => log('INFO', 'price_list_claimed', attempt),
    completed: (attempt: LoggedAttempt, since_claim_ms: number) =>
      log('INFO', 'price_list_completed', attempt, { since_claim_ms }),
    /** The log line of the request reports the error. @param needsOperator whether only an operator can resume the attempt */
    failed: (attempt: LoggedAttempt, reason: string, needsOperator: boolean) =>
      log('ERROR', 'price_list_failed', attempt, { reason: redact(reason), ...toOperatorField(needsOperator) }),
    /** @param key_outcome the kind of outcome that the attempt met instead of its own claim */
    superseded: (attempt: LoggedAttempt, key_outcome: string) =>
      log('WARNING', 'price_list_superseded', attempt, { key_outcome }),
  };
}

/** The severity and event for each result of the sweep. */
const SWEEP_EVENTS = {
  resumed: ['INFO', 'price_list_resumed'],
  deferred: ['NOTICE', 'price_list_deferred'],
  left: ['ERROR', 'price_list_left'],
} as const satisfies Record<string, readonly [LogSeverity, string]>;

/** An attempt, identified by its request record and never by its key, with the trace of the request that claimed it. */
interface SweptAttempt {
  document_id: string;
  trace_id: string | null;
  reason: string | null;
}

export function logSweptAttempt(
  result: keyof typeof SWEEP_EVENTS,
  { document_id, trace_id, reason }: SweptAttempt,
  since_claim_ms: number,
): void {
  const [severity, event] = SWEEP_EVENTS[result];
  const why = reason !== null && { reason: redact(reason) };
  logEvent(severity, event, { document_id, trace_id, since_claim_ms, ...why });
}
