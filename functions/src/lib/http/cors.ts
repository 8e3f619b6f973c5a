import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/** Seconds for which a browser may remember the answer to a preflight. */
const PREFLIGHT_MAX_AGE_S = 3600;

/**
 * Puts the CORS headers on an answer to an allowed origin, and `Vary: Origin` on every one.
 *
 * An origin is allowed when it stands among the allowed ones to the letter; `null` is an origin like any other.
 * @returns what the request's origin is: `absent` for a caller that is no browser
 */
export function applyCors(
  request: IncomingMessage,
  response: ServerResponse,
  allowed: readonly string[],
): 'allowed' | 'rejected' | 'absent' {
  response.appendHeader('Vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined) return 'absent';
  if (!allowed.includes(origin)) return 'rejected';
  cors({
    origin,
    methods: ['GET'],
    allowedHeaders: ['x-api-key', 'Content-Type', 'X-Request-Id'],
    exposedHeaders: ['X-Request-Id'],
    maxAge: PREFLIGHT_MAX_AGE_S,
    preflightContinue: true,
  })(request, response, () => undefined);
  return 'allowed';
}
