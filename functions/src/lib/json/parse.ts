/** A string, even without its end, and the colon after it if it is a name. */
const STRING = /("[^"\\]*(?:\\[^][^"\\]*)*"?)([ \t\n\r]*:)?/g;

/**
 * Parses a JSON text with `JSON.parse`, but never gives it a member name with escapes. V8 in Node 24 can
 * confuse such a name with one that it has parsed before (https://github.com/nodejs/node/issues/63785),
 * so the body of one client could change the meaning of another client's.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text) as unknown;
  const withoutEscapedNames = text.replace(STRING, (match, string: string, colon?: string) =>
    colon !== undefined && string.includes('\\') ? writeWithoutEscape(string) + colon : match,
  );
  return JSON.parse(withoutEscapedNames) as unknown;
}

/** Rewrites a name without escapes, or as an empty name if it needs them. No field of a request has such a name. */
function writeWithoutEscape(name: string): string {
  const written = JSON.stringify(JSON.parse(name));
  return written.includes('\\') ? '""' : written;
}
