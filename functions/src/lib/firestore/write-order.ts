/**
 * Returns the indexes of sorted ids, so that each batch spreads evenly over all ids. Firestore stores
 * neighbouring ids together, and rejects too many writes close together.
 */
export function getWriteOrder(count: number, batchSize: number): Uint32Array {
  const stride = Math.ceil(count / batchSize);
  const order = new Uint32Array(count);
  let written = 0;
  for (let first = 0; first < stride; first += 1) {
    for (let index = first; index < count; index += stride) {
      order[written] = index;
      written += 1;
    }
  }
  return order;
}
