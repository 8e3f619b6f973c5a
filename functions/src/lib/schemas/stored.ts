/**
 * Readers of stored values. A stored record is untrusted: whatever its types, reading it never throws, and what is not
 * as the contract's section 2 has it comes out as null.
 */

/** The value if it is a non-empty string; white space alone counts as one. */
export const readText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** A country or currency code: trimmed before it is judged, and uppercased. */
export const readCode = (value: unknown): string | null =>
  typeof value === 'string' ? readText(value.trim().toUpperCase()) : null;

/** The invoices of a supply order; an entry without a name or an address of its document is left out. */
export function readInvoices(value: unknown): { name: string; url: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    const { name, url } = (entry ?? {}) as { name?: unknown; url?: unknown };
    const invoice = { name: readText(name), url: readText(url) };
    return invoice.name === null || invoice.url === null ? [] : [{ name: invoice.name, url: invoice.url }];
  });
}
