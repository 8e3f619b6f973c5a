import { getMarketFacts, getOutcome } from '../market-facts';
import { logEvent, toOperatorField, type LogSeverity } from './event';

interface AttemptFields {
  document_id: string;
  products_count: number;
  lists: { price_list_id: string; currency_differs: boolean } | null;
}

export interface CompletedFields extends AttemptFields {
  claimed_at: number;
  updated_at: number;
}

export function toCompletionFields(record: CompletedFields) {
  const facts = getMarketFacts(record);
  return { since_claim_ms: record.updated_at - record.claimed_at, ...facts, outcome: getOutcome(facts) };
}

export type PriceListLogger = ReturnType<typeof createPriceListLogger>;

/** Logs the events of a price list with ids of its request and records, never with its key. */
export function createPriceListLogger(request_id: string) {
  const log = (severity: LogSeverity, event: string, attempt: AttemptFields, more: object = {}) => {
    const { document_id, products_count, lists } = attempt;
    const ids = { request_id, document_id, price_list_id: lists?.price_list_id ?? null };
    logEvent(severity, event, { ...ids, products_count, ...more });
  };
  return {
    claimed: (attempt: AttemptFields) => log('INFO', 'price_list_claimed', attempt),
    completed: (attempt: CompletedFields) => log('INFO', 'price_list_completed', attempt, toCompletionFields(attempt)),
    /** The log line of the request has the stack of the error. @param needsOperator whether the sweep does not resume the attempt */
    failed: (attempt: AttemptFields, reason: string, needsOperator: boolean) =>
      log('ERROR', 'price_list_failed', attempt, { reason, ...toOperatorField(needsOperator) }),
    /** @param key_outcome the kind of `KeyOutcome` that the attempt got instead of its own completion or failure */
    superseded: (attempt: AttemptFields, key_outcome: string) =>
      log('WARNING', 'price_list_superseded', attempt, { key_outcome }),
  };
}
