import { logEvent, type LogSeverity } from './event';
import { toCompletionFields, type CompletedFields } from './price-lists';

/** Logs the events of a sweep. */

const SWEEP_EVENTS = {
  resumed: ['INFO', 'price_list_resumed'],
  deferred: ['NOTICE', 'price_list_deferred'],
  left: ['ERROR', 'price_list_left'],
} as const satisfies Record<string, readonly [LogSeverity, string]>;

/** Identifies the attempt by its request record, never by its key. `trace_id` is that of the request that claimed the key. */
export function logSweepResult(
  { time, result, reason }: { time: number; result: keyof typeof SWEEP_EVENTS; reason: string | null },
  attempt: CompletedFields & { trace_id: string | null },
): void {
  const [severity, event] = SWEEP_EVENTS[result];
  const { document_id, trace_id, claimed_at } = attempt;
  const facts = result === 'resumed' ? toCompletionFields(attempt) : { since_claim_ms: time - claimed_at };
  const why = reason !== null && { reason };
  logEvent(severity, event, { document_id, trace_id, ...facts, ...why });
}

/**
 * Maximum number of log lines about unreadable records in one sweep. `sweep_ended` and `sweep_failed` give the number
 * of all such records.
 */
export const MAX_UNREADABLE_LINES = 10;

/** @param record path of the record, which contains the hash of the key */
export const logUnreadableKey = (record: string) => logEvent('ERROR', 'key_record_unreadable', { record });

export interface SweepCounts {
  resumed: number;
  deferred: number;
  left: number;
  unreadable: number;
}

/** @param entry Its `interrupted` is true if the instance stopped or the time limit was reached */
export const logSweepEnded = (entry: SweepCounts & { duration_ms: number; interrupted: boolean }) =>
  logEvent('INFO', 'sweep_ended', entry);

export const logSweepPaused = () => logEvent('NOTICE', 'sweep_paused', {});

export const logSweepFailed = (reason: string, counts: SweepCounts) =>
  logEvent('ERROR', 'sweep_failed', { reason, ...counts });
