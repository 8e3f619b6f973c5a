import type { StoredEntry } from '../records/stored-records';
import type { EntryColumns } from '../src/lib/repositories/price-lists';

/** The ids of products whose stored entries differ from the payload. */
export interface EntryDifferences {
  /** Products of the payload without a stored entry. */
  missing: string[];
  /** Entries whose price differs from the payload, or that have other fields. */
  different: string[];
  /** Entries whose product is not in the payload. */
  extra: string[];
}

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
