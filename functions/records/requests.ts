import { collections } from '../src/lib/firestore/collections';
import type { Database } from '../src/lib/firestore/database';
import { retry } from '../src/lib/firestore/retry';
import { toText } from '../src/lib/repositories/field-values';
import { keyDocument } from '../src/lib/repositories/price-lists';
import type { WorkContext } from '../src/lib/work-context';
import { parseKeyRecord, type KeyRecord } from '../src/lib/schemas/key-record';
import { readPages, type Fields, type StoredDocument } from './stored-records';

/** Reads accepted requests with their outcome, newest first, for the report of the operator's command. */

/** An accepted request. A field is null if its record lacks it. Times are Unix milliseconds. */
export interface RequestRow {
  created_at: number;
  boq_list_id: string | null;
  name: string | null;
  /** MM/YYYY. */
  month: string | null;
  market_id: string | null;
  /** The name of the API key. */
  sender: string | null;
  currency_sent: string | null;
  /** The currency of the lists; null without a market. */
  currency_stored: string | null;
  products: number | null;
  status: KeyRecord['status'] | null;
  failure_cause: string | null;
  expected_forward_cost_id: string | null;
  price_list_id: string | null;
  document_id: string;
}

const REQUESTS_PER_PAGE = 1_000;

/** Number of key records that are read at once, because each may have up to 1 MiB. */
const KEYS_PER_CALL = 100;

/**
 * Yields requests in parts, newest first. Each request costs two document reads.
 *
 * @param from the earliest time; undefined for no limit
 * @param to the time before which all requests are; undefined for no limit
 */
export async function* readRequests(
  db: Database,
  context: WorkContext,
  { from, to }: { from: number | undefined; to: number | undefined },
): AsyncGenerator<RequestRow[]> {
  const readPage = async (after: StoredDocument | undefined): Promise<StoredDocument[]> => {
    let query = db.firestore.collection(collections.priceListRequests).orderBy('created_at', 'desc');
    if (from !== undefined) query = query.where('created_at', '>=', from);
    if (to !== undefined) query = query.where('created_at', '<', to);
    query = query.orderBy('__name__', 'desc').limit(REQUESTS_PER_PAGE);
    if (after !== undefined) query = query.startAfter(after[1]['created_at'], after[0]);
    const documents: StoredDocument[] = [];
    for await (const document of db.stream(query))
      documents.push([document.id, document.data(), document.readTime.toMillis()]);
    return documents;
  };
  const read = (after: StoredDocument | undefined) => retry(() => readPage(after), context, 'outage');
  for await (const page of readPages(read, REQUESTS_PER_PAGE)) {
    for (let start = 0; start < page.length; start += KEYS_PER_CALL) {
      const some = page.slice(start, start + KEYS_PER_CALL);
      const keys = await retry(() => readKeyRecords(db, some), context, 'outage');
      yield some.map(([id, request], i) => toRow(id, request, keys[i]));
    }
  }
}

/** Reads the key records of requests. @returns undefined for a record that does not exist or parse */
async function readKeyRecords(db: Database, requests: readonly StoredDocument[]) {
  const keys = await db.getAll(
    ...requests.map(([, request]) => keyDocument(db, getInfo(request, 'boq_list_id') ?? '')),
  );
  return keys.map((key) => (key.exists ? parseKeyRecord(key.data() ?? {}) : undefined));
}

function toRow(document_id: string, request: Fields, key: KeyRecord | undefined): RequestRow {
  const current = key?.document_id === document_id ? key : undefined;
  const released = key?.history.find((attempt) => attempt.document_id === document_id);
  const attempt = current ?? released;
  return {
    created_at: Number(request['created_at']),
    boq_list_id: getInfo(request, 'boq_list_id'),
    name: getInfo(request, 'name'),
    month: getInfo(request, 'date'),
    market_id: toText(request['market_id']),
    sender: toText(request['key_id']),
    currency_sent: getInfo(request, 'currency_iso'),
    currency_stored: attempt?.lists?.currency ?? null,
    products: typeof request['products_count'] === 'number' ? request['products_count'] : null,
    status: current?.status ?? (released === undefined ? null : 'released'),
    failure_cause: current?.status === 'requires_review' ? current.failure_cause : null,
    expected_forward_cost_id: toText(request['expected_forward_cost_id']),
    price_list_id: toText(request['price_list_id']),
    document_id,
  };
}

function getInfo({ info }: Fields, name: string): string | null {
  return typeof info === 'object' && info !== null ? toText((info as Fields)[name]) : null;
}
