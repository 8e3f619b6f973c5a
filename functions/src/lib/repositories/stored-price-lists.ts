import type { CollectionReference, Query } from 'firebase-admin/firestore';
import { collections, fields, subcollections } from '../firestore/collections';
import type { Database } from '../firestore/database';
import { keyRecordSchema, type Attempt, type Creation, type KeyRecord } from '../schemas/key-record';
import { isDocumentId } from '../document-id';
import { entriesCollection, LIST_KINDS, listDocument, readKey, type FoundKey, type ListKind } from './price-lists';

import { readText } from './stored-values';

/** Reads what add price lists stored. Every function is one try and changes nothing. */

const keyRecords = ({ firestore }: Database): CollectionReference =>
  firestore.collection(collections.priceListIdempotency);

/** Reads the key records with any of the statuses. @returns also the paths of those that do not parse */
export async function readKeyRecords(
  db: Database,
  statuses: readonly KeyRecord['status'][],
): Promise<{ records: KeyRecord[]; unreadable: string[] }> {
  const records: KeyRecord[] = [];
  const unreadable: string[] = [];
  const keys = keyRecords(db).where('status', 'in', statuses);
  for await (const document of db.stream(keys)) {
    const parsed = keyRecordSchema.safeParse(document.data());
    if (parsed.success) records.push(parsed.data);
    else unreadable.push(document.ref.path);
  }
  return { records, unreadable };
}

/** Reads the keys that are due at a time, the longest first. */
export const readDueKeys = (db: Database, now: number, limit: number): Promise<FoundKey[]> =>
  findKeys(db, keyRecords(db).where('sweep_due_at', '<=', now).orderBy('sweep_due_at').limit(limit));

/** Reads every key that is neither completed nor released. */
export const readUnresolvedKeys = (db: Database): Promise<FoundKey[]> =>
  findKeys(db, keyRecords(db).where('status', 'in', ['processing', 'requires_review']));

export const countKeysInReview = (db: Database): Promise<number> =>
  db.count(keyRecords(db).where('status', '==', 'requires_review'));

async function findKeys(db: Database, keys: Query): Promise<FoundKey[]> {
  const found: FoundKey[] = [];
  for await (const document of db.stream(keys)) {
    const { success, data } = keyRecordSchema.safeParse(document.data());
    const dueAt: unknown = document.get('sweep_due_at');
    found.push({
      reference: document.ref,
      version: document.updateTime,
      record: success ? data : undefined,
      sweepDueAt: typeof dueAt === 'number' ? dueAt : null,
    });
  }
  return found;
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

/** Finds the keys of requests by an id of the request, of its records or of its lists. */
export async function findBoqListIds(db: Database, id: string): Promise<string[]> {
  if (!isDocumentId(id)) return [];
  const requests = db.firestore.collection(collections.priceListRequests);
  const [request, key] = await db.getAll(requests.doc(id), keyRecords(db).doc(id));
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

/** Reads the statuses of lists in one call. @returns by the id of the list; null: it does not exist, or has none */
export async function readListStatuses(
  db: Database,
  creations: readonly Creation[],
): Promise<Map<string, string | null>> {
  const documents = creations.flatMap((creation) => LIST_KINDS.map((kind) => listDocument(db, kind, creation)));
  if (documents.length === 0) return new Map();
  const lists = await db.getAll(...documents);
  return new Map(lists.map((list) => [list.id, readText(list.get('status'))]));
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

/** Stored fields of a document. */
export type Fields = Readonly<Record<string, unknown>>;

/** Reads documents of a collection in the order of their ids. @param after the last id of the page before; null: the first page */
export async function readPage(
  db: Database,
  collection: string,
  selected: readonly string[] | 'all',
  after: string | null,
  limit: number,
): Promise<[id: string, stored: Fields][]> {
  const ordered = db.firestore.collection(collection).orderBy('__name__').limit(limit);
  const page = after === null ? ordered : ordered.startAfter(after);
  const documents: [string, Fields][] = [];
  for await (const document of db.stream(selected === 'all' ? page : page.select(...selected))) {
    documents.push([document.id, document.data()]);
  }
  return documents;
}

export const countKeyRecords = (db: Database): Promise<number> => db.count(keyRecords(db));

/** Reads a key record as it is stored, by the id of its document. */
export async function readKeyFields(db: Database, id: string): Promise<Fields | undefined> {
  const [key] = await db.getAll(keyRecords(db).doc(id));
  return key.data();
}

/** Collections of the documents that belong to an attempt. */
export const ATTEMPT_COLLECTIONS = [
  collections.priceListRequests,
  collections.expectedForwardCosts,
  collections.priceLists,
] as const;

/** Finds request records and lists by their id. @returns their paths */
export async function findAttemptDocuments(db: Database, id: string): Promise<string[]> {
  if (!isDocumentId(id)) return [];
  const documents = await db.getAll(...ATTEMPT_COLLECTIONS.map((name) => db.firestore.collection(name).doc(id)));
  return documents.filter(({ exists }) => exists).map(({ ref }) => ref.path);
}

/** Reads the request record and both list documents of an attempt. Undefined: there is none. */
export async function readAttemptDocuments(db: Database, { document_id, creation }: Attempt) {
  const request = db.firestore.collection(collections.priceListRequests).doc(document_id);
  const lists = creation === null ? [] : LIST_KINDS.map((kind) => listDocument(db, kind, creation));
  const [stored, expected_forward_cost, price_list] = (await db.getAll(request, ...lists)).map((each) => each.data());
  return {
    request: stored as Fields | undefined,
    lists: { expected_forward_cost, price_list } as Record<ListKind, Fields | undefined>,
  };
}

export const countEntries = (db: Database, kind: ListKind, creation: Creation): Promise<number> =>
  db.count(entriesCollection(db, kind, creation));

/** Entries that one call reads. */
const ENTRIES_PER_CALL = 500;

/** Reads stored entries by their product ids; those that do not exist are left out. */
export async function* readEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
  ids: readonly string[],
): AsyncGenerator<readonly [id: string, price: unknown]> {
  const collection = entriesCollection(db, kind, creation);
  for (let start = 0; start < ids.length; start += ENTRIES_PER_CALL) {
    const entries = await db.getAll(...ids.slice(start, start + ENTRIES_PER_CALL).map((id) => collection.doc(id)));
    for (const entry of entries) if (entry.exists) yield [entry.id, entry.get(fields.entry[kind])];
  }
}
