/** The ids of products whose stored entries differ from the payload. */
export interface EntryDifferences {
  /** Products of the payload without a stored entry. */
  missing: string[];
  /** Entries whose price differs from the payload, or that have other fields. */
  different: string[];
  /** Entries whose product is not in the payload. */
  extra: string[];
}

/** An entry as it is stored. */
export interface StoredEntry {
  id: string;
  fields: Readonly<Record<string, unknown>>;
}

/**
 * Compares stored entries with those of the payload, as they arrive.
 *
 * @param wanted the prices of the payload by product id: all, or those of the sample
 * @param field the only field of an entry
 */
export async function compareEntries(
  wanted: ReadonlyMap<string, number>,
  field: string,
  stored: AsyncIterable<StoredEntry>,
): Promise<EntryDifferences> {
  const pending = new Map(wanted);
  const different: string[] = [];
  const extra: string[] = [];
  for await (const { id, fields } of stored) {
    const expected = pending.get(id);
    if (expected === undefined) extra.push(id);
    else if (expected !== fields[field] || Object.keys(fields).length !== 1) different.push(id);
    pending.delete(id);
  }
  return { missing: [...pending.keys()], different, extra };
}
