import { write, type LogSeverity } from 'firebase-functions/logger';
import { getServiceContext } from './config';
import type { ApiError } from './errors';
import type { Phase } from './request-context';

/**
 * Everything that the service logs: one function per event. Nothing else writes. API keys,
 * payloads, prices and names are never among the parameters, so they cannot be logged. See
 * docs/operations.md#log-entries.
 */

export interface RequestLogEntry {
  operation: string;
  request_id: string;
  method: string;
  /** Of the response, or 499 if the client had gone. */
  status: number;
  client_gone: true | undefined;
  /** From the request's first line until its response was sent, or its client had gone. */
  duration_ms: number;
  firestore_calls: number;
  retries: number;
  /** Each logged as a field of its own. */
  phases_ms: Partial<Record<Phase, number>>;
  /** Records in the response, or products accepted. */
  count: number | undefined;
  replayed: boolean | undefined;
  /** Identifies the accepted API key. */
  key_id?: string;
  /** The origin of a rejected preflight. */
  origin?: string;
  error: ApiError | undefined;
}

export function logRequest({ error, phases_ms, ...entry }: RequestLogEntry): void {
  const { operation, status } = entry;
  write({
    severity: status >= 500 ? 'ERROR' : status >= 400 ? 'NOTICE' : 'INFO',
    message: `${operation} answered ${status}`,
    event: 'request',
    ...entry,
    ...toPhaseFields(phases_ms),
    ...(error && { error_code: error.code, reason: redact(error.message), ...toOperatorField(error.needsOperator) }),
    ...(error && status >= 500 && toErrorReport(error.cause ?? error, operation)),
  });
}

/** Marks a line about a key that waits for an operator: alerts look for it, since the sweep resolves the others. */
const toOperatorField = (needsOperator: boolean) => (needsOperator ? { needs_operator: true } : {});

const toPhaseFields = (phasesMs: Partial<Record<Phase, number>>) =>
  Object.fromEntries(Object.entries(phasesMs).map(([phase, ms]) => [`${phase}_ms`, Math.round(ms)]));

/**
 * Returns the fields by which Error Reporting captures an entry and groups it by its stack
 * (https://cloud.google.com/error-reporting/docs/formatting-error-messages).
 */
function toErrorReport(thrown: unknown, service: string) {
  const error = thrown instanceof Error ? thrown : new Error('thrown value is not an error');
  const firstLine = `${error.name}: ${redact(error.message).replace(/\s+/g, ' ')}`;
  return {
    '@type': 'type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent',
    serviceContext: getServiceContext(service),
    stack_trace: firstLine + (getFrames(error) ?? getFrames(new Error()) ?? ''),
  };
}

/** Returns the frames of a stack, those right after its message: a text with line breaks does not pass as one. */
function getFrames({ message, stack = '' }: Error): string | undefined {
  const end = stack.indexOf(`${message}\n    at `);
  return end === -1 ? undefined : /^(?:\n {4}at .*)+/.exec(stack.slice(end + message.length))?.[0];
}

const logEvent = (severity: LogSeverity, event: string, fields: object) =>
  write({ severity, message: event.replaceAll('_', ' '), event, ...fields });

/**
 * Removes what Firestore's messages may reveal of a document: from its path on, which names
 * products, and from the first quotation mark on, after which a value may follow.
 */
const redact = (message: string): string => message.replace(/(\/documents\/|").*/s, '$1…');

/** An attempt to create price lists, as far as it is logged. */
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
    /** Its request's line reports the error. @param needsOperator the sweep does not resume the attempt */
    failed: (attempt: LoggedAttempt, reason: string, needsOperator: boolean) =>
      log('ERROR', 'price_list_failed', attempt, { reason: redact(reason), ...toOperatorField(needsOperator) }),
    /** @param key_outcome what the attempt found in place of its own claim */
    superseded: (attempt: LoggedAttempt, key_outcome: string) =>
      log('WARNING', 'price_list_superseded', attempt, { key_outcome }),
    /** The request found that the lease of an attempt had lapsed which the sweep may not resume any more. */
    left: (attempt: SweptAttempt, since_claim_ms: number) => logSweptAttempt('left', attempt, since_claim_ms),
  };
}

/** This instance has loaded its function. */
export const logInstanceStarted = (entry: { version: string; commit: string; node: string }) =>
  logEvent('INFO', 'instance_started', entry);

/** The API key setting has lines that are no key. @param lines their numbers, from 1, and never their text */
export const logApiKeyLinesIgnored = (lines: readonly number[]) =>
  logEvent('ERROR', 'api_key_lines_ignored', { lines });

/** The platform stops this instance. @param requests in progress */
export const logInstanceStopping = (requests: number) => logEvent('INFO', 'instance_stopping', { requests });

/** This instance exits. @param unanswered requests whose responses are not complete */
export const logInstanceStopped = (unanswered: number, duration_ms: number) =>
  logEvent(unanswered > 0 ? 'WARNING' : 'INFO', 'instance_stopped', { unanswered, duration_ms });

/** What the sweep did about an attempt. */
const SWEEP_EVENTS = {
  resumed: ['INFO', 'price_list_resumed'],
  deferred: ['NOTICE', 'price_list_deferred'],
  left: ['ERROR', 'price_list_left'],
} as const satisfies Record<string, readonly [LogSeverity, string]>;

/** An attempt under its record's id, never under its key, with the trace of the request that claimed it. */
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

/** A key record that does not parse. @param record its path, which contains the key's hash */
export const logUnreadableKey = (record: string) => logEvent('ERROR', 'key_record_unreadable', { record });

/**
 * @param entry `requires_review`: keys that do, not counted by a sweep that was `interrupted`: the
 * instance stopped, or the sweep's time was up
 */
export const logSweepEnded = (entry: {
  resumed: number;
  deferred: number;
  left: number;
  requires_review: number | undefined;
  duration_ms: number;
  interrupted: boolean;
}) => logEvent('INFO', 'sweep_ended', entry);

export const logSweepFailed = (reason: string) => logEvent('ERROR', 'sweep_failed', { reason: redact(reason) });
