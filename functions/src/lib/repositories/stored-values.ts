/** Reads values of stored records, which can hold anything. A malformed value counts as missing, and nothing throws. */

/** @returns the value if it is a non-empty string, which may be only whitespace; otherwise null */
export const toText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** @returns a country or currency code, trimmed and uppercased; null if nothing remains */
export const toCode = (value: unknown): string | null =>
  typeof value === 'string' ? toText(value.trim().toUpperCase()) : null;
