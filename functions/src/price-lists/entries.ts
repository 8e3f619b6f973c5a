import { getWriteOrder } from '../lib/firestore/write-order';
import {
  streamStoredEntries,
  writeEntryBatch,
  type EntryColumns,
  type ListKind,
} from '../lib/repositories/price-lists';
import { MAX_ENTRIES_PER_COMMIT } from './commit-sizes';
import type { Lease, WrittenEntries } from './lease';
import type { ProductColumns } from './submission-parser';

/** The entries of both lists. */
export type Entries = Record<ListKind, EntryColumns>;

/** Returns the entries of both lists, in an order that spreads each batch over the collection. */
export function toEntries({ ids, expectedForwardCostPrices, priceListPrices }: ProductColumns): Entries {
  const order = getWriteOrder(ids);
  const orderedIds = Array.from(order, (index) => ids[index] ?? '');
  const inOrder = (prices: Float64Array) => new Float64Array(order.length).map((_, i) => prices[order[i] ?? 0] ?? NaN);
  return {
    expected_forward_cost: { ids: orderedIds, prices: inOrder(expectedForwardCostPrices) },
    price_list: { ids: orderedIds, prices: inOrder(priceListPrices) },
  };
}

/** Entries that are read before the lease is renewed again, if that is due. */
const ENTRIES_PER_LEASE_CHECK = 1_000;

/** Finds the entries that are not stored, or differ. */
export async function findPendingEntries(entries: Entries, lease: Lease): Promise<Entries> {
  const { creation } = lease.attempt;
  if (creation === null) return entries;
  const findIn = async (kind: ListKind): Promise<EntryColumns> => {
    const { ids, prices } = entries[kind];
    const stored = new Map<string, unknown>();
    for await (const [id, price] of streamStoredEntries(lease.keys.db, kind, creation)) {
      stored.set(id, price);
      if (stored.size % ENTRIES_PER_LEASE_CHECK === 0) await lease.renewIfDue();
    }
    const isPending = (i: number) => stored.get(ids[i] ?? '') !== prices[i];
    return { ids: ids.filter((_, i) => isPending(i)), prices: prices.filter((_, i) => isPending(i)) };
  };
  // One after the other, so that no reading goes on when the other has failed.
  return { expected_forward_cost: await findIn('expected_forward_cost'), price_list: await findIn('price_list') };
}

/**
 * Writes entries of both lists side by side, each list batch by batch; nothing for an attempt
 * without lists. When one list fails, the other stops after its current batch, so that no call is
 * under way when the attempt is failed.
 *
 * @param onProgress called at the start and after each batch
 */
export async function writeEntries(
  entries: Entries,
  lease: Lease,
  onProgress: (progress: WrittenEntries) => void = () => undefined,
): Promise<void> {
  const { creation } = lease.attempt;
  if (creation === null) return;
  let stopped = false;
  onProgress(lease.startProgress(entries.expected_forward_cost.ids.length + entries.price_list.ids.length));
  const writeList = async (kind: ListKind) => {
    const { ids, prices } = entries[kind];
    try {
      for (let start = 0; start < ids.length && !stopped; start += MAX_ENTRIES_PER_COMMIT) {
        const end = start + MAX_ENTRIES_PER_COMMIT;
        const batch = { ids: ids.slice(start, end), prices: prices.subarray(start, end) };
        await lease.run(() => writeEntryBatch(lease.keys.db, kind, creation, batch));
        onProgress(lease.addProgress(batch.ids.length));
      }
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const lists = await Promise.allSettled([writeList('expected_forward_cost'), writeList('price_list')]);
  for (const list of lists) if (list.status === 'rejected') throw list.reason;
}
