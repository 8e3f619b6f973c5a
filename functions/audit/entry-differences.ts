import type { EntryColumns } from '../src/lib/repositories/price-lists';

/** The product ids for which the stored entries of a list differ from the payload. */
export interface EntryDifferences {
  /** In the payload, but not stored. */
  missing: string[];
  /** Stored with a price other than that of the payload. */
  different: string[];
  /** Stored, but not in the payload. */
  extra: string[];
}

type StoredEntry = readonly [id: string, price: unknown];

/**
 * Compares stored entries with those of the payload, as they arrive.
 *
 * @param wanted all entries of the payload, or those of the sample
 */
export async function compareEntries(
  wanted: EntryColumns,
  stored: AsyncIterable<StoredEntry> | Iterable<StoredEntry>,
): Promise<EntryDifferences> {
  const pending = new Map(wanted.ids.map((id, i) => [id, wanted.prices[i]]));
  const different: string[] = [];
  const extra: string[] = [];
  for await (const [id, price] of stored) {
    const expected = pending.get(id);
    if (expected === undefined) extra.push(id);
    else if (expected !== price) different.push(id);
    pending.delete(id);
  }
  return { missing: [...pending.keys()], different, extra };
}
