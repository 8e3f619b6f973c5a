const BUCKETS = 2 ** 16;

/** Up to here sorting takes less time than going through all buckets. */
const MAX_SORTED_IDS = 1024;

/**
 * Returns the indexes of `ids` in the order of a hash of each id. Writes in this order go to all of a collection at once:
 * ids next to each other are stored together, and Firestore rejects too many writes to one place.
 */
export function getHashOrder(ids: readonly string[]): Uint32Array {
  const buckets = new Uint16Array(ids.length);
  ids.forEach((id, index) => (buckets[index] = hash(id)));
  return ids.length <= MAX_SORTED_IDS ? sortByBucket(buckets) : countByBucket(buckets);
}

const sortByBucket = (buckets: Uint16Array): Uint32Array =>
  Uint32Array.from(buckets.keys()).sort((a, b) => (buckets[a] ?? 0) - (buckets[b] ?? 0) || a - b);

/** A counting sort, because the event loop waits: four times faster than sorting the hashes of a large list. */
function countByBucket(buckets: Uint16Array): Uint32Array {
  const sizes = new Uint32Array(BUCKETS);
  buckets.forEach((bucket) => (sizes[bucket] = (sizes[bucket] ?? 0) + 1));
  let start = 0;
  const positions = sizes.map((size) => (start += size) - size);
  const order = new Uint32Array(buckets.length);
  buckets.forEach((bucket, index) => {
    const position = positions[bucket] ?? 0;
    order[position] = index;
    positions[bucket] = position + 1;
  });
  return order;
}

/** 16 bits of FNV-1a, with a final mix, since neighbouring ids differ in their last character only. */
function hash(id: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) value = Math.imul(value ^ id.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value >>> 16;
}
