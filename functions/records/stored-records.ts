import { FieldPath, type QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { isDocumentId } from '../src/lib/document-id';
import { collections, fields, subcollections } from '../src/lib/firestore/collections';
import type { Database } from '../src/lib/firestore/database';
import { decodeDocument } from '../src/lib/firestore/messages';
import { decodeNumber } from '../src/lib/firestore/price-entries';
import {
  entriesCollection,
  keyDocument,
  keyRecords,
  KEYS_PER_PAGE,
  LIST_KINDS,
  listDocument,
  readKey,
  requestDocument,
  toFoundKey,
  type FoundKey,
  type KeySnapshot,
  type ListKind,
} from '../src/lib/repositories/price-lists';
import type { Attempt, ClaimedLists, KeyRecord } from '../src/lib/schemas/key-record';
import { CALL_TIMEOUTS_MS } from '../src/lib/time-limits';

/** Reads stored records for the command, the audit and the data pages. Only `streamEntries` repeats a call after an error. */

/** Reads a key. Its record is undefined if no request for the key was ever accepted. */
export const readKeyRecord = (db: Database, boqListId: string): Promise<KeySnapshot> =>
  readKey(db, keyDocument(db, boqListId));

/** Selects keys without lists, or whose request named another currency than the market's. */
export type CompletionFilter = { field: 'lists'; value: null } | { field: 'lists.currency_differs'; value: true };

/** Reads a page of the keys with one of these statuses, in order of id. @param after last key of the previous page */
export async function readKeysByStatus(
  db: Database,
  statuses: readonly KeyRecord['status'][],
  after?: FoundKey,
  outcome?: CompletionFilter,
): Promise<FoundKey[]> {
  const keys = keyRecords(db).where('status', 'in', statuses);
  const selected = outcome === undefined ? keys : keys.where(outcome.field, '==', outcome.value);
  const page = selected.orderBy('__name__').limit(KEYS_PER_PAGE);
  const found: FoundKey[] = [];
  for await (const key of db.stream(after === undefined ? page : page.startAfter(after.reference.id)))
    found.push(toFoundKey(key));
  return found;
}

/** The statuses of the keys that are neither completed nor released. */
export const UNRESOLVED_STATUSES = ['processing', 'requires_review'] as const satisfies KeyRecord['status'][];

/** The types of an id: the name of its field, or `hash` for the id of a key record. */
export const ID_TYPES = [
  'boq_list_id',
  'hash',
  'document_id',
  'price_list_id',
  'expected_forward_cost_id',
  'request_id',
] as const;

export type IdType = (typeof ID_TYPES)[number];

/** A key that an id matches. */
export interface FoundKeyRecord {
  record: KeyRecord;
  /** When the record was read, by Firestore's clock. Its lease is judged by this time. */
  readAt: number;
  /** The types as which the id matches the key. */
  idTypes: IdType[];
}

/**
 * Finds the keys that an id matches as any of these types. Clients choose their `boq_list_id` and request
 * ids, so one id can match the keys of several clients, and all types are tried.
 */
export async function findKeyRecords(
  db: Database,
  id: string,
  idTypes: readonly IdType[] = ID_TYPES,
): Promise<FoundKeyRecord[]> {
  const matches = await Promise.all(
    idTypes.map(async (idType) => ({ idType, boqListIds: await findBoqListIds(db, id, idType) })),
  );
  const found = new Map<string, IdType[]>();
  for (const { idType, boqListIds } of matches) {
    for (const boqListId of boqListIds) found.set(boqListId, [...(found.get(boqListId) ?? []), idType]);
  }
  const keys = await Promise.all(
    [...found].map(async ([boqListId, idTypes]) => ({ ...(await readKeyRecord(db, boqListId)), idTypes })),
  );
  return keys.flatMap(({ record, readAt, idTypes }) => (record === undefined ? [] : [{ record, readAt, idTypes }]));
}

/** Maximum number of requests that an id of one type finds, because clients can repeat a request id without limit. */
export const MAX_MATCHES = 20;

/** Finds the keys that an id of this type matches, even keys without a record. */
export async function findBoqListIds(db: Database, id: string, idType: IdType): Promise<string[]> {
  if (idType === 'boq_list_id') return [id];
  if (!isDocumentId(id)) return [];
  const requests = db.firestore.collection(collections.priceListRequests);
  const found: unknown[] = [];
  if (idType === 'hash') {
    const [key] = await db.getAll(keyRecords(db).doc(id));
    found.push(key.get('boq_list_id'));
  } else if (idType === 'document_id') {
    const [request] = await db.getAll(requests.doc(id));
    found.push(request.get('info.boq_list_id'));
  } else {
    for await (const match of db.stream(requests.where(idType, '==', id).limit(MAX_MATCHES))) {
      found.push(match.get('info.boq_list_id'));
    }
  }
  return found.filter((boqListId) => typeof boqListId === 'string');
}

/** Returns whether both lists of an attempt have ids that Firestore accepts. */
export const hasUsableIds = (lists: ClaimedLists): boolean =>
  LIST_KINDS.every((kind) => isDocumentId(lists[`${kind}_id`]));

/** The stored fields of a document. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Yields pages up to the first that is not full.
 *
 * @param read reads the page after an item; undefined for the first page
 */
export async function* readPages<T>(
  read: (after: T | undefined) => Promise<T[]>,
  pageSize: number,
): AsyncGenerator<T[]> {
  for (let last: T | undefined; ;) {
    const page = await read(last);
    yield page;
    last = page.at(-1);
    if (page.length < pageSize) return;
  }
}

/** The id and the stored fields of a document, and when they were read, by Firestore's clock. */
export type StoredDocument = [id: string, stored: Fields, readAt: number];

/** Maximum number of documents that one call of {@link readPage} reads. */
export const PAGE_SIZE = 300;

/** Reads a page of a collection, ordered by id. @param after the last document of the previous page */
export async function readPage(
  db: Database,
  collection: string,
  selected: readonly string[] | 'all',
  after: StoredDocument | undefined,
): Promise<StoredDocument[]> {
  const ordered = db.firestore.collection(collection).orderBy('__name__').limit(PAGE_SIZE);
  const page = after === undefined ? ordered : ordered.startAfter(after[0]);
  const documents: StoredDocument[] = [];
  for await (const document of db.stream(selected === 'all' ? page : page.select(...selected))) {
    documents.push([document.id, document.data(), document.readTime.toMillis()]);
  }
  return documents;
}

export const countKeyRecords = (db: Database): Promise<number> => db.count(keyRecords(db), CALL_TIMEOUTS_MS.query);

/** Reads the stored fields of a key record by the id of its document. @returns undefined if there is none */
export async function readKeyDocument(db: Database, id: string): Promise<StoredDocument | undefined> {
  const [key] = await db.getAll(keyRecords(db).doc(id));
  const stored = key.data();
  return stored && [id, stored, key.readTime.toMillis()];
}

/** The collections whose documents belong to attempts. */
export const ATTEMPT_COLLECTIONS = [
  collections.priceListRequests,
  collections.expectedForwardCosts,
  collections.priceLists,
] as const;

export type AttemptCollection = (typeof ATTEMPT_COLLECTIONS)[number];

/** The subcollection with the entries or the payload of each document. */
export const SUBCOLLECTION_OF = {
  [collections.priceListRequests]: subcollections.payload,
  [collections.expectedForwardCosts]: subcollections.products,
  [collections.priceLists]: subcollections.products,
} as const satisfies Record<AttemptCollection, string>;

/** The type of the document ids in each collection. */
export const ID_TYPE_OF = {
  [collections.priceListIdempotency]: 'hash',
  [collections.priceListRequests]: 'document_id',
  [collections.expectedForwardCosts]: 'expected_forward_cost_id',
  [collections.priceLists]: 'price_list_id',
} as const satisfies Record<string, IdType>;

/**
 * Finds the next document of a collection that has entries or payload chunks, even if it does not exist. Reads one
 * entry or chunk, because a query of the collection does not find documents that do not exist.
 *
 * @param after id of the previous document; '' for the first
 */
export async function findNextParent(
  db: Database,
  collection: AttemptCollection,
  after: string,
): Promise<string | undefined> {
  const subcollection = SUBCOLLECTION_OF[collection];
  // The least path below a document with a greater id. Ids in these collections have no character below U+0001.
  const start = `${collection}/${after}\u0001/${subcollection}/\u0001`;
  const group = db.firestore.collectionGroup(subcollection).where(FieldPath.documentId(), '>=', start);
  for await (const { ref } of db.stream(group.limit(1).select())) {
    const [found, id] = ref.path.split('/');
    // The query continues into other collections, which can have a subcollection of the same name.
    if (found === collection) return id;
  }
  return undefined;
}

/** Finds request records and lists by their id. @param idType undefined for any type */
export async function findAttemptDocuments(db: Database, id: string, idType?: IdType) {
  const names = ATTEMPT_COLLECTIONS.filter((name) => idType === undefined || ID_TYPE_OF[name] === idType);
  if (!isDocumentId(id) || names.length === 0) return [];
  const documents = await db.getAll(...names.map((name) => db.firestore.collection(name).doc(id)));
  return documents.filter((document) => document.exists) as QueryDocumentSnapshot[];
}

/** Reads the request record and both list documents of an attempt; undefined for those that do not exist. */
export async function readAttemptDocuments(db: Database, { document_id, lists }: Attempt) {
  // Reads `none`, which does not exist, instead of an id that Firestore does not accept.
  const request = requestDocument(db, isDocumentId(document_id) ? document_id : 'none');
  const documents =
    lists === null || !hasUsableIds(lists) ? [] : LIST_KINDS.map((kind) => listDocument(db, kind, lists));
  const [stored, expected_forward_cost, price_list] = (await db.getAll(request, ...documents)).map((each) =>
    each.data(),
  );
  return {
    request: stored as Fields | undefined,
    lists: { expected_forward_cost, price_list } as Record<ListKind, Fields | undefined>,
  };
}

export const countEntries = (db: Database, kind: ListKind, lists: ClaimedLists): Promise<number> =>
  db.count(entriesCollection(db, kind, lists), CALL_TIMEOUTS_MS.query);

const ENTRIES_PER_CALL = 500;

/** An entry. Its price is undefined unless it is the only field. */
export type StoredEntry = readonly [id: string, price: unknown];

/** Reads the stored entries of the given products, and omits products without an entry. */
export async function* readEntries(
  db: Database,
  kind: ListKind,
  lists: ClaimedLists,
  ids: readonly string[],
): AsyncGenerator<StoredEntry> {
  const collection = entriesCollection(db, kind, lists);
  for (let start = 0; start < ids.length; start += ENTRIES_PER_CALL) {
    const entries = await db.getAll(...ids.slice(start, start + ENTRIES_PER_CALL).map((id) => collection.doc(id)));
    for (const entry of entries)
      if (entry.exists) yield [entry.id, hasOneField(entry.data()) ? entry.get(fields.entry[kind]) : undefined];
  }
}

export async function* streamEntries(db: Database, kind: ListKind, lists: ClaimedLists): AsyncGenerator<StoredEntry> {
  const query = { parent: listDocument(db, kind, lists).path, collection: subcollections.products };
  const decode = (response: Buffer): [string, unknown] | undefined => {
    const entry = decodeNumber(response, fields.entry[kind]);
    return entry && [entry[0], hasOneField(decodeDocument(response)?.fields) ? entry[1] : undefined];
  };
  for await (const entries of db.streamQuery(query, decode)) yield* entries;
}

const hasOneField = (stored: Fields = {}): boolean => Object.keys(stored).length === 1;
