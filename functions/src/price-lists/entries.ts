import type { Entry, ListKind } from '../lib/repositories/lists';
import type { Product } from '../lib/schemas/add-price-lists';

/**
 * Yields the entries of a list in batches. Each batch spreads evenly over the sorted ids, because Firestore stores
 * neighbouring ids together, and rejects too many writes close together.
 */
export function* toBatches(products: readonly Product[], kind: ListKind, batchSize: number): Generator<Entry[]> {
  const batches = Math.ceil(products.length / batchSize);
  for (let first = 0; first < batches; first += 1) {
    const batch: Entry[] = [];
    for (let i = first; i < products.length; i += batches) {
      const product = products[i];
      if (product !== undefined) batch.push([product.id, product[`${kind}_price`]]);
    }
    yield batch;
  }
}
