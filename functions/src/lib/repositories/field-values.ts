/** Converts stored values. A stored record may hold anything, so these functions never throw and return null for a malformed value. */

/** @returns the value if it is a non-empty string, which may be only whitespace; else null */
export const toText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** @returns a country or currency code, trimmed and uppercased; null if nothing remains */
export const toCode = (value: unknown): string | null =>
  typeof value === 'string' ? toText(value.trim().toUpperCase()) : null;

/** @returns the invoices of a supply order, without entries that lack a name or a URL */
export function toInvoices(value: unknown): { name: string; url: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: { name?: unknown; url?: unknown } | null | undefined) => {
    const [name, url] = [toText(entry?.name), toText(entry?.url)];
    return name === null || url === null ? [] : [{ name, url }];
  });
}
