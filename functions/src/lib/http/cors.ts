import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/** How long a browser may cache the response to a preflight, in seconds. */
export const PREFLIGHT_MAX_AGE_S = 3_600;

/**
 * Adds `Vary: Origin`, and for an allowed origin the CORS headers. An origin, even `null`, is allowed only
 * if the list contains exactly this origin. A preflight can ask for any request headers, because tracing
 * libraries add their own. Only the list of origins limits which pages can call the operation.
 *
 * @returns whether the origin is allowed; true for a request without an origin
 */
export function applyCors(request: IncomingMessage, response: ServerResponse, allowedOrigins: string[]): boolean {
  response.appendHeader('Vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (!allowedOrigins.includes(origin)) return false;
  cors({
    origin,
    methods: ['GET'],
    exposedHeaders: ['X-Request-Id'],
    maxAge: PREFLIGHT_MAX_AGE_S,
    preflightContinue: true,
  })(request, response, () => undefined);
  return true;
}
