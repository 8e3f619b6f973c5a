import type { Database } from '../src/lib/firestore/database';
import { retry } from '../src/lib/firestore/retry';
import type { EntryColumns, ListKind } from '../src/lib/repositories/price-lists';
import type { WorkContext } from '../src/lib/work-context';
import type { Attempt, ClaimedLists } from '../src/lib/schemas/key-record';
import { toEntries } from '../src/price-lists/entries';
import { compareEntries } from './entry-differences';
import type { AttemptDocuments, StoredList } from './invariants';
import { readStoredPayload } from '../src/price-lists/payload';
import type { ProductColumns } from '../src/price-lists/submission-parser';
import { countEntries, readAttemptDocuments, readEntries, streamEntries, type Fields } from '../records/stored-records';

/** Number of counted entries that Firestore bills as one document read. */
const COUNTED_PER_READ = 1_000;

/** Reads the records of attempts, and estimates how many document reads Firestore bills. */
export class AttemptReader {
  documentReads = 0;

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    private readonly sampleSize: number,
  ) {}

  /** Calls `fn`, and again after a transient error. @param documentReads number of documents that one call reads */
  async read<T>(fn: () => Promise<T>, documentReads: number): Promise<T> {
    this.documentReads += documentReads;
    return retry(fn, this.context, 'outage');
  }

  async readAttempt(attempt: Attempt): Promise<AttemptDocuments> {
    const { lists } = attempt;
    const documents = await this.read(() => readAttemptDocuments(this.db, attempt), lists === null ? 1 : 3);
    const payload = await this.read(() => readStoredPayload(this.db, attempt), attempt.payload_chunks);
    const { request } = documents;
    if (lists === null) return { request, payload, lists: null };

    const products = payload.kind === 'valid' ? payload.submission.products : null;
    const wanted = products === null ? null : this.#selectEntries(products);
    const { expected_forward_cost, price_list } = documents.lists;
    const stored = {
      expected_forward_cost: await this.#readList('expected_forward_cost', lists, expected_forward_cost, wanted),
      price_list: await this.#readList('price_list', lists, price_list, wanted),
    };
    return { request, payload, lists: stored };
  }

  async #readList(
    kind: ListKind,
    lists: ClaimedLists,
    document: Fields | undefined,
    wanted: Record<ListKind, EntryColumns> | null,
  ): Promise<StoredList> {
    const entryCount = await this.read(() => countEntries(this.db, kind, lists), 0);
    this.documentReads += Math.max(1, Math.ceil(entryCount / COUNTED_PER_READ));
    if (wanted === null || this.sampleSize === 0) return { document, entryCount, entries: null };
    const columns = wanted[kind];
    const isComplete = this.sampleSize === Infinity;
    const readStored = () =>
      isComplete ? streamEntries(this.db, kind, lists) : readEntries(this.db, kind, lists, columns.ids);
    const entries = await this.read(
      () => compareEntries(columns, readStored()),
      isComplete ? entryCount : columns.ids.length,
    );
    return { document, entryCount, entries };
  }

  /** Selects the entries to compare: all of them, or a random sample. */
  #selectEntries(products: ProductColumns): Record<ListKind, EntryColumns> {
    const { ids } = products;
    const { expected_forward_cost, price_list } = toEntries(products);
    if (this.sampleSize >= ids.length) return { expected_forward_cost, price_list };
    const chosen = new Set<number>();
    while (chosen.size < this.sampleSize) chosen.add(Math.floor(this.context.random() * ids.length));
    const select = (columns: EntryColumns): EntryColumns => ({
      ids: columns.ids.filter((_, i) => chosen.has(i)),
      prices: columns.prices.filter((_, i) => chosen.has(i)),
    });
    return { expected_forward_cost: select(expected_forward_cost), price_list: select(price_list) };
  }
}
