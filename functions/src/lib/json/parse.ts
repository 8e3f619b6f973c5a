/** A string, closed or not, and the colon after a name. */
const STRING = /("[^"\\]*(?:\\[^][^"\\]*)*"?)([ \t\n\r]*:)?/g;

/**
 * Parses a JSON text as `JSON.parse` does, but never gives it an escaped member name. Node 24's V8 may
 * confuse such a name with one that it has parsed before (https://github.com/nodejs/node/issues/63785),
 * so one client's body could change the meaning of another's.
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

/** Rewrites a name without escapes. A name that needs one, such as one with a quotation mark, names no field and becomes empty. */
function writeWithoutEscape(name: string): string {
  const written = JSON.stringify(JSON.parse(name));
  return written.includes('\\') ? '""' : written;
}
