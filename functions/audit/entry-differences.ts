import type { EntryColumns } from '../src/lib/repositories/price-lists';

/** What differs between stored entries of a list and those of the payload. */
export interface EntryDifferences {
  /** Of the payload, and not stored. */
  missing: DifferingEntries;
  /** Stored with another price. */
  different: DifferingEntries;
  /** Stored, and not of the payload. */
  extra: DifferingEntries;
}

export interface DifferingEntries {
  count: number;
  /** Some of their product ids. */
  examples: string[];
}

const MAX_EXAMPLES = 3;

/**
 * Compares stored entries with those of the payload, as they arrive.
 *
 * @param wanted all entries of the payload, or those that were looked up
 */
export async function compareEntries(
  wanted: EntryColumns,
  stored: AsyncIterable<readonly [id: string, price: unknown]> | Iterable<readonly [id: string, price: unknown]>,
): Promise<EntryDifferences> {
  const pending = new Map(wanted.ids.map((id, i) => [id, wanted.prices[i]]));
  const differences = { missing: createEmpty(), different: createEmpty(), extra: createEmpty() };
  for await (const [id, price] of stored) {
    const expected = pending.get(id);
    if (expected === undefined) add(differences.extra, id);
    else if (expected !== price) add(differences.different, id);
    pending.delete(id);
  }
  for (const id of pending.keys()) add(differences.missing, id);
  return differences;
}

const createEmpty = (): DifferingEntries => ({ count: 0, examples: [] });

function add(entries: DifferingEntries, id: string): void {
  entries.count += 1;
  if (entries.examples.length < MAX_EXAMPLES) entries.examples.push(id);
}
