import type * as z from 'zod';

/**
 * Parses JSON that another program sent or a person has edited.
 *
 * @param source what the text is, for the error
 * @throws Error if the text is not JSON, or if the schema rejects it
 */
export function parseOutsideJson<T>(text: string, schema: z.ZodType<T>, source: string): T {
  try {
    // Some editors save a byte order mark, which JSON does not allow.
    return schema.parse(JSON.parse(text.replace(/^\ufeff/, '')));
  } catch {
    throw new Error(`${source} cannot be read`);
  }
}
