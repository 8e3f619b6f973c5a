import {
  LIST_KINDS,
  streamStoredEntries,
  writeEntryBatch,
  type EntryColumns,
  type ListKind,
} from '../lib/repositories/price-lists';
import type { ClaimedLists } from '../lib/schemas/key-record';
import type { RunningAttempt } from './running-attempt';
import type { ProductColumns } from './submission-parser';

/** The maximum number of entries in one batch (docs/api.md#behaviour-of-add-price-lists). */
export const MAX_ENTRIES_PER_COMMIT = 500;

export const toEntries = (products: ProductColumns): Record<ListKind, EntryColumns> => ({
  expected_forward_cost: { ids: products.ids, prices: products.expectedForwardCostPrices },
  price_list: { ids: products.ids, prices: products.priceListPrices },
});

/** The entries of each list that are still to be written: indexes into the columns, in the order of writing. */
export type PendingEntries = Record<ListKind, Uint32Array>;

export function getAllEntries({ ids }: ProductColumns): PendingEntries {
  const order = getWriteOrder(ids.length, MAX_ENTRIES_PER_COMMIT);
  return { expected_forward_cost: order, price_list: order };
}

/**
 * Orders the indexes of sorted ids so that each batch spreads evenly over all ids. Firestore stores
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

/** Number of entries to read between two checks of whether a renewal of the lease is due. */
const ENTRIES_PER_LEASE_CHECK = 1_000;

/**
 * Finds the entries that are missing or have a different price from the payload. Several resumes share the memory of
 * an instance, so this reads one list at a time and keeps only an index and a flag for each entry of the payload.
 */
export async function findPendingEntries(products: ProductColumns, attempt: RunningAttempt): Promise<PendingEntries> {
  const all = getAllEntries(products);
  const { lists } = attempt.record;
  if (lists === null) return all;
  const entries = toEntries(products);
  const indexes = new Map<string, number>();
  for (const [index, id] of products.ids.entries()) indexes.set(id, index);
  const pending = { ...all };
  for (const kind of LIST_KINDS) {
    const isStored = await findStoredEntries(indexes, entries[kind].prices, kind, lists, attempt);
    pending[kind] = all[kind].filter((index) => isStored[index] === 0);
  }
  return pending;
}

/** @returns for each entry of the payload: 1 if it is stored with the same price, otherwise 0 */
async function findStoredEntries(
  indexes: ReadonlyMap<string, number>,
  prices: Float64Array,
  kind: ListKind,
  lists: ClaimedLists,
  attempt: RunningAttempt,
): Promise<Uint8Array> {
  const isStored = new Uint8Array(prices.length);
  let read = 0;
  for await (const [id, price] of streamStoredEntries(attempt.keys.db, kind, lists)) {
    const index = indexes.get(id);
    if (index !== undefined && prices[index] === price) isStored[index] = 1;
    read += 1;
    if (read % ENTRIES_PER_LEASE_CHECK === 0) await attempt.keepLease();
  }
  return isStored;
}

/**
 * Writes the pending entries of both lists concurrently, each list batch by batch. An attempt without lists
 * writes nothing. When one list fails, the other stops after its current batch. So this process has no
 * write in progress when the attempt fails, unless the signal has aborted.
 */
export async function writeEntries(
  products: ProductColumns,
  pending: PendingEntries,
  attempt: RunningAttempt,
): Promise<void> {
  const { keys } = attempt;
  const { lists } = attempt.record;
  if (lists === null) return;
  const entries = toEntries(products);
  let stopped = false;
  const progress = {
    entries_written: 0,
    entries_total: pending.expected_forward_cost.length + pending.price_list.length,
  };
  attempt.setProgress({ ...progress });
  const writeList = async (kind: ListKind) => {
    try {
      for (let start = 0; start < pending[kind].length && !stopped; start += MAX_ENTRIES_PER_COMMIT) {
        const batch = select(entries[kind], pending[kind].subarray(start, start + MAX_ENTRIES_PER_COMMIT));
        await attempt.call(() => writeEntryBatch(keys.db, kind, lists, batch));
        progress.entries_written += batch.ids.length;
        attempt.setProgress({ ...progress });
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const results = await Promise.allSettled(LIST_KINDS.map(writeList));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

const select = ({ ids, prices }: EntryColumns, indexes: Uint32Array): EntryColumns => ({
  ids: Array.from(indexes, (index) => ids[index] ?? ''),
  prices: Float64Array.from(indexes, (index) => prices[index] ?? NaN),
});
