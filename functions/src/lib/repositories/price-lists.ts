import { createHash } from 'node:crypto';
import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Query,
  Timestamp,
} from 'firebase-admin/firestore';
import { isDocumentId } from '../document-id';
import type { PriceListInfo } from '../schemas/add-price-lists';
import {
  parseKeyRecord,
  requireKeyRecord,
  type Attempt,
  type ClaimedLists,
  type KeyRecord,
} from '../schemas/key-record';
import type { ListDocument, PriceListDocument } from '../schemas/responses';
import { collections, fields, subcollections } from '../firestore/collections';
import { DELETED, type Database, type CommitWrites } from '../firestore/database';
import { decodePriceEntry } from '../firestore/price-entries';
import { toMarket } from './organisation';

/**
 * The records of add price lists. Every function is one try and may be repeated: entries and chunks
 * are fixed values under fixed ids, and a key record is written on the precondition that it is
 * unchanged since it was read.
 */

export const newDocumentId = ({ firestore }: Database): string =>
  firestore.collection(collections.priceListRequests).doc().id;

/** The id of a key record: lowercase hex SHA-256 of the key in UTF-8. */
export const keyDocumentId = (boqListId: string): string =>
  createHash('sha256').update(boqListId, 'utf8').digest('hex');

/** A key record as it was read. */
export type KeySnapshot = ReturnType<typeof toKeySnapshot>;

/** A key record that a query found. */
export interface FoundKey extends KeySnapshot {
  version: Timestamp;
  /** Undefined if it does not parse. */
  record: KeyRecord | undefined;
  /** As it is stored; null without one. */
  sweepDueAt: number | null;
}

/** Whether a record is stored where that of the key belongs. */
export const isKeyOf = ({ id }: DocumentReference, boqListId: string): boolean => id === keyDocumentId(boqListId);

export async function readKey(db: Database, boqListId: string): Promise<KeySnapshot> {
  const [key] = await db.getAll(keyDocument(db, boqListId));
  return toKeySnapshot(key);
}

/** Reads the key record and the market of a submission in one call. */
export async function readKeyAndMarket(db: Database, { boq_list_id, market_id }: PriceListInfo) {
  if (!isDocumentId(market_id)) return { key: await readKey(db, boq_list_id), market: null };
  const reference = db.firestore.collection(collections.markets).doc(market_id);
  const [key, market] = await db.getAll(keyDocument(db, boq_list_id), reference);
  return { key: toKeySnapshot(key), market: market.exists ? toMarket(market.data() ?? {}) : null };
}

/** Reads the keys that are due at a time, the longest first. */
export const readDueKeys = (db: Database, now: number, limit: number): Promise<FoundKey[]> =>
  findKeys(db, keyRecords(db).where('sweep_due_at', '<=', now).orderBy('sweep_due_at').limit(limit));

export const readKeysByStatus = (db: Database, statuses: readonly KeyRecord['status'][]): Promise<FoundKey[]> =>
  findKeys(db, keyRecords(db).where('status', 'in', statuses));

/** Reads every key that is neither completed nor released. */
export const readUnresolvedKeys = (db: Database): Promise<FoundKey[]> =>
  readKeysByStatus(db, ['processing', 'requires_review']);

export const countKeysInReview = (db: Database): Promise<number> =>
  db.count(keyRecords(db).where('status', '==', 'requires_review'));

async function findKeys(db: Database, keys: Query): Promise<FoundKey[]> {
  const found: FoundKey[] = [];
  for await (const document of db.stream(keys)) {
    const dueAt: unknown = document.get('sweep_due_at');
    found.push({
      reference: document.ref,
      version: document.updateTime,
      record: parseKeyRecord(document.data()),
      sweepDueAt: typeof dueAt === 'number' ? dueAt : null,
    });
  }
  return found;
}

/**
 * Fails the commit, with ALREADY_EXISTS or FAILED_PRECONDITION, if the record changed since `key`
 * was read.
 *
 * @param sweepDueAt when the sweep has to look at it; null: never, so that its index does not have
 * it
 */
export function setKey(writes: CommitWrites, key: KeySnapshot, record: KeyRecord, sweepDueAt: number | null): void {
  const isDue = sweepDueAt !== null && { sweep_due_at: sweepDueAt };
  if (key.version === undefined) writes.create(key.reference, { ...record, ...isDue });
  else writes.update(key.reference, { sweep_due_at: DELETED, ...record, ...isDue }, { lastUpdateTime: key.version });
}

/** Changes nothing else of a record, and fails the commit like {@link setKey}. */
export function setSweepDueAt(writes: CommitWrites, { reference, version }: FoundKey, dueAt: number | null): void {
  writes.update(reference, { sweep_due_at: dueAt ?? DELETED }, { lastUpdateTime: version });
}

/** Gives both lists the status in which the end of their attempt leaves them. */
export function setListStatuses(db: Database, writes: CommitWrites, { creation, status, updated_at }: KeyRecord): void {
  if (creation === null) return;
  const lists = LIST_KINDS.map((kind) => listDocument(db, kind, creation));
  if (status === 'completed') lists.forEach((list) => writes.update(list, { status: 'ready', updated_at }));
  // Merged, so that an attempt can be resolved even if its list documents were deleted.
  else lists.forEach((list) => writes.set(list, { status: 'failed', updated_at }, { merge: true }));
}

export function setListDocuments(
  db: Database,
  writes: CommitWrites,
  creation: ClaimedLists,
  lists: { expected_forward_cost: ListDocument; price_list: PriceListDocument },
): void {
  writes.set(listDocument(db, 'expected_forward_cost', creation), lists.expected_forward_cost);
  writes.set(listDocument(db, 'price_list', creation), lists.price_list);
}

export function setRequestRecord(
  db: Database,
  writes: CommitWrites,
  attempt: Attempt,
  info: PriceListInfo,
  requestId: string,
): void {
  const { creation } = attempt;
  writes.set(requestDocument(db, attempt.document_id), {
    schema_version: 1,
    info,
    request_id: requestId,
    trace_id: attempt.trace_id,
    products_count: attempt.products_count,
    fingerprint: attempt.fingerprint,
    fingerprint_version: attempt.fingerprint_version,
    market_id: attempt.market_id,
    expected_forward_cost_id: creation?.expected_forward_cost_id ?? null,
    price_list_id: creation?.price_list_id ?? null,
    created_at: attempt.claimed_at,
    payload_encoding: 'gzip',
    payload_chunks: attempt.payload_chunks,
  });
}

/** Chunks are read in the order of their ids; four digits are enough for the largest request. */
export function setPayloadChunk(
  db: Database,
  writes: CommitWrites,
  { document_id }: Attempt,
  index: number,
  data: Buffer,
): void {
  const chunks = requestDocument(db, document_id).collection(subcollections.payload);
  writes.set(chunks.doc(String(index).padStart(4, '0')), { data });
}

/** Reads the stored chunks of an attempt's payload, in order. */
export async function readPayloadChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of db.stream(requestDocument(db, document_id).collection(subcollections.payload))) {
    const data: unknown = chunk.get('data');
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

/** The two lists of an attempt. */
export const LIST_COLLECTIONS = {
  expected_forward_cost: collections.expectedForwardCosts,
  price_list: collections.priceLists,
};

export type ListKind = keyof typeof LIST_COLLECTIONS;

export const LIST_KINDS = ['expected_forward_cost', 'price_list'] as const satisfies ListKind[];

export const listDocument = ({ firestore }: Database, kind: ListKind, creation: ClaimedLists): DocumentReference =>
  firestore.collection(LIST_COLLECTIONS[kind]).doc(creation[`${kind}_id`]);

export const entriesCollection = (db: Database, kind: ListKind, creation: ClaimedLists): CollectionReference =>
  listDocument(db, kind, creation).collection(subcollections.products);

/** Entries of one list in columns: `prices[i]` is the price of `ids[i]`. */
export interface EntryColumns {
  ids: readonly string[];
  prices: Float64Array;
}

/** Writes one batch of a list's entries, at most 500 (docs/api.md#behaviour-of-add-price-lists), in one commit. */
export function writeEntryBatch(
  db: Database,
  kind: ListKind,
  creation: ClaimedLists,
  { ids, prices }: EntryColumns,
): Promise<void> {
  const collection = entriesCollection(db, kind, creation).path;
  return db.commitPriceEntries({ collection, field: fields.entry[kind], ids, prices });
}

/**
 * Streams the stored entries of a list by id: the product id, and the stored price, undefined if
 * that is not a number. A failed call continues after the last entry.
 */
export async function* streamStoredEntries(
  db: Database,
  kind: ListKind,
  creation: ClaimedLists,
): AsyncGenerator<[id: string, price: number | undefined]> {
  const field = fields.entry[kind];
  const query = { parent: listDocument(db, kind, creation).path, collection: subcollections.products, fields: [field] };
  for await (const entries of db.streamQuery(query, (response) => decodePriceEntry(response, field))) yield* entries;
}

const toKeySnapshot = (document: DocumentSnapshot) => ({
  reference: document.ref,
  record: document.exists ? requireKeyRecord(document.data()) : undefined,
  /** When the record was last written; undefined if there is none. */
  version: document.updateTime,
});

export const keyRecords = ({ firestore }: Database): CollectionReference =>
  firestore.collection(collections.priceListIdempotency);

const keyDocument = (db: Database, boqListId: string): DocumentReference =>
  keyRecords(db).doc(keyDocumentId(boqListId));

export const requestDocument = ({ firestore }: Database, documentId: string) =>
  firestore.collection(collections.priceListRequests).doc(documentId);
