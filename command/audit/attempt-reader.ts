import { isDeepStrictEqual } from 'node:util';
import type { DocumentSnapshot } from 'firebase-admin/firestore';
import type { Database } from '../../functions/src/lib/firestore/database';
import { retry } from '../../functions/src/lib/firestore/retry';
import { LIST_KINDS, listDocument, type ListKind } from '../../functions/src/lib/repositories/lists';
import { requestDocument } from '../../functions/src/lib/repositories/request-records';
import { getPrices, type PriceListSubmission, type Products } from '../../functions/src/lib/schemas/add-price-lists';
import type { KeyLists, KeyRecord } from '../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { readStoredPayload, UnusablePayloadError } from '../../functions/src/price-lists/payload';
import { countEntries, readAllEntries, readEntries } from '../records/entries';
import { billPage } from '../records/pages';
import type { AttemptDocuments, EntryDifferences, StoredList, StoredPayload } from './attempt';
import { PRICE_OF } from './expected';

/** Number of counted entries that Firestore bills as one document read. */
const COUNTED_PER_READ = 1_000;

/** Reads a stored payload. If the payload cannot be used, returns the error that says why. */
export const readPayload = (
  attempt: Pick<KeyRecord, 'document_id' | 'fingerprint'>,
  db: Database,
  context: WorkContext,
): Promise<StoredPayload> =>
  retry(() => readStoredPayload(db, attempt), context, 'outage').catch((error: unknown) => {
    if (error instanceof UnusablePayloadError) return error;
    throw error;
  });

/** Reads the records of attempts, and counts approximately the document reads that Firestore bills, without those of retries. */
export class AttemptReader {
  documentReads = 0;

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    private readonly sampleSize: number,
    private readonly onRead: (documentReads: number) => void,
  ) {}

  /** Calls `fn` with retries. @param documentReads number to count for the call; 0 if the caller counts */
  async read<T>(fn: () => Promise<T>, documentReads: number): Promise<T> {
    this.documentReads += documentReads;
    this.onRead(this.documentReads);
    return retry(fn, this.context, 'outage');
  }

  /** @param chunks `payload_chunks` of the request record, which can be malformed */
  readPayload(attempt: Pick<KeyRecord, 'document_id' | 'fingerprint'>, chunks: unknown): Promise<StoredPayload> {
    this.documentReads += typeof chunks === 'number' ? chunks : 1;
    return readPayload(attempt, this.db, this.context);
  }

  async readAttempt(attempt: KeyRecord): Promise<AttemptDocuments> {
    const { lists, document_id } = attempt;
    const references = lists === null ? [] : LIST_KINDS.map((kind) => listDocument(this.db, kind, lists));
    const all = [requestDocument(this.db, document_id), ...references];
    const stored = await this.read(() => this.db.getAll(...all), all.length);
    const [request, expected_forward_cost, price_list] = stored.map((document) => document.data());
    const payload = await this.readPayload(attempt, request?.['payload_chunks']);
    if (lists === null) return { request, payload, lists: null };
    const sample = payload instanceof UnusablePayloadError ? null : this.#selectProducts(payload);
    const readList = async (kind: ListKind, document: StoredList['document']): Promise<StoredList> => {
      const entryCount = await this.read(() => countEntries(this.db, kind, lists), 0);
      this.documentReads += Math.max(1, Math.ceil(entryCount / COUNTED_PER_READ));
      const entries = sample && (await this.#compare(kind, lists, sample));
      return { document, entryCount, entries };
    };
    return {
      request,
      payload,
      lists: {
        expected_forward_cost: await readList('expected_forward_cost', expected_forward_cost),
        price_list: await readList('price_list', price_list),
      },
    };
  }

  #compare(kind: ListKind, lists: KeyLists, sample: Products) {
    const field = PRICE_OF[kind];
    const wanted = new Map(sample.ids.map((id) => [id, getPrices(sample, id)[field]]));
    return compareEntries(wanted, field, this.#readEntries(kind, lists, wanted));
  }

  /** Yields the entries to compare: all of the list, or those of the sample. */
  async *#readEntries(
    kind: ListKind,
    lists: KeyLists,
    wanted: ReadonlyMap<string, number>,
  ): AsyncGenerator<DocumentSnapshot> {
    const isComplete = this.sampleSize === Infinity;
    const pages = isComplete
      ? readAllEntries(this.db, this.context, kind, lists)
      : readEntries(this.db, this.context, kind, lists, [...wanted.keys()]);
    if (!isComplete) this.documentReads += wanted.size;
    for await (const page of pages) {
      if (isComplete) this.documentReads += billPage(page);
      yield* page;
    }
  }

  /** Selects the products whose entries are compared: all of them, or a random sample. Returns null for a sample size of 0. */
  #selectProducts({ products }: PriceListSubmission): Products | null {
    if (this.sampleSize === 0) return null;
    if (this.sampleSize >= products.ids.length) return products;
    const chosen = new Set<number>();
    while (chosen.size < this.sampleSize) chosen.add(Math.floor(this.context.random() * products.ids.length));
    return { ...products, ids: products.ids.filter((_, i) => chosen.has(i)) };
  }
}

/**
 * Compares the stored entries of a list with the prices in the payload, while the entries arrive.
 *
 * @param wanted the prices of the payload by product id: all, or those of the sample
 * @param field the only field of an entry
 */
async function compareEntries(
  wanted: ReadonlyMap<string, number>,
  field: string,
  stored: AsyncIterable<DocumentSnapshot>,
): Promise<EntryDifferences> {
  const pending = new Map(wanted);
  const different: string[] = [];
  const extra: string[] = [];
  for await (const entry of stored) {
    const expected = pending.get(entry.id);
    if (expected === undefined) extra.push(entry.id);
    else if (!isDeepStrictEqual(entry.data(), { [field]: expected })) different.push(entry.id);
    pending.delete(entry.id);
  }
  return { missing: [...pending.keys()], different, extra };
}
