import { LIST_KINDS, writeEntryBatch, type Entry, type ListKind } from '../lib/repositories/lists';
import type { ProductPrices } from '../lib/schemas/add-price-lists';
import type { Attempt } from './attempt';

export type Products = ReadonlyMap<string, ProductPrices>;

/** How many entries of both lists an owner has written, and how many it writes in total. */
export interface Progress {
  entries_written: number;
  entries_total: number;
}

/** Returns the price of a product in a list. */
export const getPrice = {
  expected_forward_cost: ({ expected_forward_cost_price }) => expected_forward_cost_price,
  price_list: ({ price_list_price }) => price_list_price,
} satisfies Record<ListKind, (prices: ProductPrices) => number>;

/**
 * Yields the entries of a list in batches. Each batch spreads evenly over the sorted ids, because Firestore stores
 * neighbouring ids together, and rejects too many writes close together.
 */
export function* toBatches(products: Products, kind: ListKind, batchSize: number): Generator<Entry[]> {
  const entries = [...products];
  const batches = Math.ceil(entries.length / batchSize);
  for (let first = 0; first < batches; first += 1) {
    const batch: Entry[] = [];
    for (let i = first; i < entries.length; i += batches) {
      const entry = entries[i];
      if (entry !== undefined) batch.push([entry[0], getPrice[kind](entry[1])]);
    }
    yield batch;
  }
}

/**
 * Writes the entries of both lists side by side, each list batch by batch. When one list fails, the other stops after
 * its current batch. So this process has no write in progress when the attempt fails, unless the signal has aborted.
 */
export async function writeEntries(products: Products, attempt: Attempt): Promise<void> {
  const { db, context } = attempt.key;
  const { lists } = attempt.record;
  if (lists === null) return;
  let failed = false;
  const progress: Progress = { entries_written: 0, entries_total: LIST_KINDS.length * products.size };
  const writeList = async (kind: ListKind) => {
    for (const batch of toBatches(products, kind, context.sizes.batchEntries)) {
      if (failed) return;
      await attempt.call(() => writeEntryBatch(db, kind, lists, batch));
      progress.entries_written += batch.length;
      attempt.onProgress({ ...progress });
    }
  };
  const writes = LIST_KINDS.map((kind) =>
    writeList(kind).catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  for (const result of await Promise.allSettled(writes)) if (result.status === 'rejected') throw result.reason;
}
