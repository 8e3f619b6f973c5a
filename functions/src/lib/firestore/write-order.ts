/**
 * Returns the places of sorted ids, so that each batch spreads evenly over all of them. Firestore stores
 * neighbouring ids together, and rejects too many writes to one place.
 */
export function getWriteOrder(count: number, batchSize: number): Uint32Array {
  const stride = Math.ceil(count / batchSize);
  const order = new Uint32Array(count);
  let written = 0;
  for (let first = 0; first < stride; first += 1) {
    for (let place = first; place < count; place += stride) {
      order[written] = place;
      written += 1;
    }
  }
  return order;
}
