import { collections, fields, subcollections } from '../firestore/collections';
import type { Database } from '../firestore/database';
import { keyRecordSchema, type Attempt, type Creation, type KeyRecord } from '../schemas/key-record';
import { isDocumentId } from '../document-id';
import { entriesCollection, listDocument, readKey, type ListKind } from './price-lists';
import { readText } from './stored-values';

/** Reads what add price lists stored. Every function is one try and changes nothing. */

/** Reads the key records with any of the statuses. @returns also the paths of those that do not parse */
export async function readKeyRecords(
  db: Database,
  statuses: readonly KeyRecord['status'][],
): Promise<{ records: KeyRecord[]; unreadable: string[] }> {
  const records: KeyRecord[] = [];
  const unreadable: string[] = [];
  const keys = db.firestore.collection(collections.priceListIdempotency).where('status', 'in', statuses);
  for await (const document of db.stream(keys)) {
    const parsed = keyRecordSchema.safeParse(document.data());
    if (parsed.success) records.push(parsed.data);
    else unreadable.push(document.ref.path);
  }
  return { records, unreadable };
}

/** @returns undefined if no request was ever accepted for the key */
export const readKeyRecord = async (db: Database, boqListId: string): Promise<KeyRecord | undefined> =>
  (await readKey(db, boqListId)).record;

/** A client may send one request id with many requests. */
const MAX_MATCHES = 20;

/** Finds keys by a `boq_list_id`, or else by an id of a response or a log line: of a request, a list or a record. */
export async function findKeyRecords(db: Database, id: string): Promise<KeyRecord[]> {
  const record = await readKeyRecord(db, id);
  if (record !== undefined) return [record];
  const keys = new Set(await findBoqListIds(db, id));
  const records = await Promise.all([...keys].map((key) => readKeyRecord(db, key)));
  return records.filter((found) => found !== undefined);
}

async function findBoqListIds(db: Database, id: string): Promise<string[]> {
  if (!isDocumentId(id)) return [];
  const requests = db.firestore.collection(collections.priceListRequests);
  const [request, key] = await db.getAll(
    requests.doc(id),
    db.firestore.collection(collections.priceListIdempotency).doc(id),
  );
  const found = [request.get('info.boq_list_id'), key.get('boq_list_id')];
  for (const field of ['price_list_id', 'expected_forward_cost_id', 'request_id']) {
    if (found.some((boqListId) => typeof boqListId === 'string')) break;
    for await (const match of db.stream(requests.where(field, '==', id).limit(MAX_MATCHES))) {
      found.push(match.get('info.boq_list_id'));
    }
  }
  return found.filter((boqListId) => typeof boqListId === 'string');
}

/** Reads the stored chunks of an attempt's payload, in order. */
export async function readPayloadChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const request = db.firestore.collection(collections.priceListRequests).doc(document_id);
  const chunks: Buffer[] = [];
  for await (const chunk of db.stream(request.collection(subcollections.payload))) {
    const data: unknown = chunk.get('data');
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

/** Progress of one list of an attempt. */
export interface ListProgress {
  /** Of the list document; null if it does not exist. */
  status: string | null;
  entries: number;
}

export async function readListProgress(db: Database, kind: ListKind, creation: Creation): Promise<ListProgress> {
  const [[list], entries] = await Promise.all([
    db.getAll(listDocument(db, kind, creation)),
    db.count(entriesCollection(db, kind, creation)),
  ]);
  return { status: readText(list.get('status')), entries };
}

/** Streams the stored entries of a list: the product id, and the stored price as it is. */
export async function* streamStoredEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
): AsyncGenerator<readonly [id: string, price: unknown]> {
  const priceField = fields.entry[kind];
  for await (const entry of db.stream(entriesCollection(db, kind, creation).select(priceField))) {
    yield [entry.id, entry.get(priceField)];
  }
}
