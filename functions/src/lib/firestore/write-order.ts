/**
 * Returns the indexes of `ids` in the order of a hash of each id. Writes in this order go to all of
 * a collection at once: ids next to each other are stored together, and Firestore rejects too many
 * writes to one place.
 */
export function getWriteOrder(ids: readonly string[]): Uint32Array {
  // The hash above 32 bits of index: numbers sort natively, ten times faster than by a comparison
  // function.
  const keys = new Float64Array(ids.map((id, index) => hash(id) * 2 ** 32 + index)).sort();
  // Keeps the lowest 32 bits of each.
  return new Uint32Array(keys);
}

/** 16 bits of FNV-1a, with a final mix, since neighbouring ids differ in their last character only. */
function hash(id: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) value = Math.imul(value ^ id.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value >>> 16;
}
