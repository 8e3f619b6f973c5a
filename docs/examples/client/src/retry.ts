/**
 * Decides whether to send a request again, and after which pause, by the rule of
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
  /** `body` is text if it is not JSON. */
  | { kind: 'failure'; body: unknown }
  /** `afterMs` is the pause that the response asks for; `isForeign` means that another program sent it. */
  | { kind: 'retry'; body: unknown; isForeign: boolean; afterMs: number | undefined };

/** Statuses of transient errors, of the service and of the platform in front of it. */
const TRANSIENT_STATUSES = [408, 429, 502, 503, 504];

/** @returns what a response means for its request */
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

/** Returns the pause after this number of tries, unless the response asks for another. It doubles each time. */
export const getDelayMs = (tries: number): number => Math.min(1000 * 2 ** (tries - 1), 30_000);

/** `Retry-After` is a number of seconds or a date. @returns milliseconds, undefined for neither */
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
