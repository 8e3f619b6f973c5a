import type { Entry, ListKind } from '../lib/repositories/lists';
import type { Products } from '../lib/schemas/add-price-lists';

/**
 * Yields the entries of a list in batches. Each batch spreads evenly over the sorted ids, because Firestore stores
 * neighbouring ids together, and rejects too many writes close together.
 */
export function* toBatches(products: Products, kind: ListKind, batchSize: number): Generator<Entry[]> {
  // Copies only the ids: the pairs of the largest list's map would take 35 MB.
  const ids = [...products.keys()];
  const batches = Math.ceil(ids.length / batchSize);
  for (let first = 0; first < batches; first += 1) {
    const batch: Entry[] = [];
    for (let i = first; i < ids.length; i += batches) {
      const id = ids[i];
      const prices = id === undefined ? undefined : products.get(id);
      if (id === undefined || prices === undefined) throw new Error('a batch has an id without a product');
      batch.push([id, prices[`${kind}_price`]]);
    }
    yield batch;
  }
}
