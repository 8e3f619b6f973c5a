/**
 * Decides by a response whether to send its request again, and after which pause. The rule is in
 * docs/integration-guide.md. A request without a response is always sent again.
 */

export interface HttpResponse {
  status: number;
  /** Keyed by names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export type Judgement =
  | { kind: 'success'; body: unknown }
  /** `body` is a string if the response is not a JSON object. */
  | { kind: 'failure'; body: unknown }
  /** `afterMs` is the pause that the response asks for. `isForeign` means that the response is not from the service. */
  | { kind: 'retry'; body: unknown; isForeign: boolean; afterMs: number | undefined };

/** Statuses of transient errors of the service and of the platform in front of it. */
const TRANSIENT_STATUSES = [408, 429, 502, 503, 504];

/** @returns whether the request succeeded, failed, or should be sent again */
export function judgeResponse({ status, headers, text }: HttpResponse): Judgement {
  const object = parseObject(text);
  if (status === 200 && object !== undefined) return { kind: 'success', body: object };

  const body = object ?? text;
  const retryAfter = headers['retry-after'];
  if (retryAfter !== undefined || TRANSIENT_STATUSES.includes(status) || object?.['error'] === 'Internal error') {
    return { kind: 'retry', body, isForeign: false, afterMs: parseRetryAfter(String(retryAfter)) };
  }
  const isForeign = status === 200 || (status >= 500 && typeof object?.['error'] !== 'string');
  return isForeign ? { kind: 'retry', body, isForeign, afterMs: undefined } : { kind: 'failure', body };
}

/** Returns the pause after a number of tries, for a response that asks for none. It doubles each time. */
export const getDelayMs = (tries: number): number => Math.min(1000 * 2 ** (tries - 1), 30_000);

/** @returns milliseconds; undefined for a value that is neither a number of seconds nor a date */
function parseRetryAfter(value: string): number | undefined {
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
