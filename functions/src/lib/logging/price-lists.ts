import { getMarketFacts } from '../schemas/key-record';
import { logEvent, redact, toOperatorField, type LogSeverity } from './event';

interface AttemptFields {
  document_id: string;
  products_count: number;
  lists: { price_list_id: string; currency_differs: boolean } | null;
}

interface CompletedFields extends AttemptFields {
  claimed_at: number;
  updated_at: number;
}

function toCompletionFields(record: CompletedFields) {
  const facts = getMarketFacts(record);
  // One field with both facts, because the label of a metric can read only one field.
  const outcome = !facts.market_found ? 'no_market' : facts.currency_differs ? 'other_currency' : 'created';
  return { since_claim_ms: record.updated_at - record.claimed_at, ...facts, outcome };
}

export type PriceListLogger = ReturnType<typeof createPriceListLogger>;

/** Logs the events of a price list under its request's id and its records' ids, never under its key. */
export function createPriceListLogger(request_id: string) {
  const log = (severity: LogSeverity, event: string, attempt: AttemptFields, more: object = {}) => {
    const { document_id, products_count, lists } = attempt;
    const ids = { request_id, document_id, price_list_id: lists?.price_list_id ?? null };
    logEvent(severity, event, { ...ids, products_count, ...more });
  };
  return {
    claimed: (attempt: AttemptFields) => log('INFO', 'price_list_claimed', attempt),
    completed: (attempt: CompletedFields) => log('INFO', 'price_list_completed', attempt, toCompletionFields(attempt)),
    /** The log line of the request has the stack. @param needsOperator whether the sweep does not resume the attempt */
    failed: (attempt: AttemptFields, reason: string, needsOperator: boolean) =>
      log('ERROR', 'price_list_failed', attempt, { reason: redact(reason), ...toOperatorField(needsOperator) }),
    /** @param key_outcome the kind of `KeyOutcome` that the attempt got instead of its own completion or failure */
    superseded: (attempt: AttemptFields, key_outcome: string) =>
      log('WARNING', 'price_list_superseded', attempt, { key_outcome }),
  };
}

const SWEEP_EVENTS = {
  resumed: ['INFO', 'price_list_resumed'],
  deferred: ['NOTICE', 'price_list_deferred'],
  left: ['ERROR', 'price_list_left'],
} as const satisfies Record<string, readonly [LogSeverity, string]>;

/** Identifies the attempt by its request record, never by its key. Its `trace_id` is that of the claiming request. */
export function logSweepResult(
  { time, result, reason }: { time: number; result: keyof typeof SWEEP_EVENTS; reason: string | null },
  attempt: CompletedFields & { trace_id: string | null },
): void {
  const [severity, event] = SWEEP_EVENTS[result];
  const { document_id, trace_id, claimed_at } = attempt;
  const facts = result === 'resumed' ? toCompletionFields(attempt) : { since_claim_ms: time - claimed_at };
  const why = reason !== null && { reason: redact(reason) };
  logEvent(severity, event, { document_id, trace_id, ...facts, ...why });
}

/** @param record its path, which contains the key's hash */
export const logUnreadableKey = (record: string) => logEvent('ERROR', 'key_record_unreadable', { record });

export interface SweepCounts {
  resumed: number;
  deferred: number;
  left: number;
  unreadable: number;
}

/**
 * @param entry Its `requires_review` is the number of keys in review; undefined if they could not be counted. A
 * sweep that was `interrupted`, because the instance stopped or its time was up, does not count them.
 */
export const logSweepEnded = (
  entry: SweepCounts & { requires_review: number | undefined; duration_ms: number; interrupted: boolean },
) => logEvent('INFO', 'sweep_ended', entry);

export const logSweepPaused = () => logEvent('NOTICE', 'sweep_paused', {});

export const logSweepFailed = (reason: string, counts: SweepCounts) =>
  logEvent('ERROR', 'sweep_failed', { reason: redact(reason), ...counts });
