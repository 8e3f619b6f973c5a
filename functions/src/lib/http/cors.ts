import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/**
 * Adds the CORS headers for an allowed origin, and `Vary: Origin` always. An origin is allowed only if
 * the list has exactly this origin, which applies to `null` too. A preflight may ask for any request
 * headers, because tracing libraries add their own and the list of origins is the control.
 *
 * @returns false for an origin that is not allowed; true without one, as from a client that is not a browser
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
