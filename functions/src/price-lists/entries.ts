import type { Entry, ListKind } from '../lib/repositories/lists';
import type { ProductPrices } from '../lib/schemas/add-price-lists';

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
  // Not the entries of the map: as pairs, those of the largest list would take 35 MB.
  const ids = [...products.keys()];
  const batches = Math.ceil(ids.length / batchSize);
  for (let first = 0; first < batches; first += 1) {
    const chosen = Array.from(
      { length: Math.ceil((ids.length - first) / batches) },
      (_, i) => ids[first + i * batches],
    );
    yield chosen.map((id) => toEntry(id, products, kind));
  }
}

function toEntry(id: string | undefined, products: Products, kind: ListKind): Entry {
  const prices = id === undefined ? undefined : products.get(id);
  if (id === undefined || prices === undefined) throw new Error('a batch has an id without a product');
  return [id, getPrice[kind](prices)];
}
