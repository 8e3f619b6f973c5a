import { getServiceContext } from '../config';
import { getErrorMessage, getErrorName, LoggableError, type ApiError } from '../errors';
import type { Phase } from '../work-context';
import { logEvent, toOperatorField } from './event';

export interface RequestLogEntry {
  operation: string;
  request_id: string;
  method: string;
  /** Status of the error if there is one; otherwise 499 if the client had left, or the status of the response. */
  status: number;
  client_gone: true | undefined;
  /** From the start of the handler until this entry, even if the client left earlier. */
  duration_ms: number;
  firestore_calls: number;
  retries: number;
  /** Each phase is logged as a separate field. */
  phases_ms: Partial<Record<Phase, number>>;
  /** Number of records in the response, or of products accepted. */
  count: number | undefined;
  replayed: boolean | undefined;
  market_found?: boolean;
  /** Whether the request of an accepted price list named a different currency from the market's. */
  currency_differs?: boolean;
  key_id?: string;
  /** The origin of a rejected preflight. */
  origin?: string;
  error: ApiError | undefined;
}

/** Logs the sender of a large body before the scan, so that the log has this line even if the scan ends the instance. */
export const logLargeBody = (entry: { operation: string; request_id: string; key_id: string; bytes: number }) =>
  logEvent('INFO', 'large_body', entry);

export function logRequest({ error, phases_ms, ...entry }: RequestLogEntry): void {
  const { operation, status } = entry;
  // A pause is planned, and an instance protects itself if it refuses a request for lack of memory. Neither 503 is a failure.
  const isFailure = status >= 500 && !(error?.code === 'writes_paused' || error?.code === 'too_many_price_lists');
  const severity = isFailure ? 'ERROR' : status >= 400 ? 'NOTICE' : 'INFO';
  const fields = {
    ...entry,
    ...toPhaseFields(phases_ms),
    ...(error && { error_code: error.code, reason: getErrorMessage(error), ...toOperatorField(error.needsOperator) }),
    ...(error && isFailure && toErrorReport(error.cause ?? error, operation)),
  };
  logEvent(severity, 'request', fields, `${operation} answered ${status}`);
}

const toPhaseFields = (phasesMs: Partial<Record<Phase, number>>) =>
  Object.fromEntries(Object.entries(phasesMs).map(([phase, ms]) => [`${phase}_ms`, Math.round(ms)]));

/**
 * Returns the fields by which Error Reporting captures an entry and groups it by its stack
 * (https://cloud.google.com/error-reporting/docs/formatting-error-messages).
 */
function toErrorReport(thrown: unknown, service: string) {
  const error = thrown instanceof Error ? thrown : new LoggableError('thrown value is not an error');
  const firstLine = `${getErrorName(error)}: ${getErrorMessage(error).replace(/\s+/g, ' ')}`;
  return {
    '@type': 'type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent',
    serviceContext: getServiceContext(service),
    stack_trace: firstLine + (getFrames(error) ?? getFrames(new Error()) ?? ''),
  };
}

/** Returns the frames that follow the message of a stack, so that no line of the message counts as a frame. */
// eslint-disable-next-line no-restricted-syntax -- The function returns only what follows the message.
function getFrames({ message, stack = '' }: Error): string | undefined {
  const end = stack.indexOf(`${message}\n    at `);
  return end === -1 ? undefined : /^(?:\n {4}at .*)+/.exec(stack.slice(end + message.length))?.[0];
}
