import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/**
 * Adds the CORS headers for an allowed origin, and `Vary: Origin` always. An origin is allowed only if
 * the list has exactly this origin, which applies to `null` too. A preflight can ask for any request
 * headers, because tracing libraries add their own and only the list of origins limits which pages can call.
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
    maxAge: 3600,
    preflightContinue: true,
  })(request, response, () => undefined);
  return true;
}
