import type { Entry, ListKind } from '../lib/repositories/lists';
import { getPrices, type Products } from '../lib/schemas/add-price-lists';

/**
 * Yields the entries of a list in batches. The ids of each batch are spread evenly over the sorted ids, because Firestore
 * stores neighbouring ids together, and can reject writes if too many of them go to one range of ids.
 */
export function* toBatches(products: Products, kind: ListKind, batchSize: number): Generator<Entry[]> {
  const { ids } = products;
  const batches = Math.ceil(ids.length / batchSize);
  for (let first = 0; first < batches; first += 1) {
    const batch: Entry[] = [];
    for (let i = first; i < ids.length; i += batches) {
      const id = ids[i] ?? '';
      batch.push([id, getPrices(products, id)[`${kind}_price`]]);
    }
    yield batch;
  }
}
