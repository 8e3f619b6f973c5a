import { createHash } from 'node:crypto';
import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Query,
  QueryDocumentSnapshot,
  Timestamp,
} from 'firebase-admin/firestore';
import { isDocumentId } from '../document-id';
import type { PriceListInfo } from '../schemas/add-price-lists';
import {
  getMarketFacts,
  parseKeyRecord,
  requireKeyRecord,
  type Attempt,
  type ClaimedLists,
  type KeyRecord,
} from '../schemas/key-record';
import type { ListDocument, PriceListDocument } from '../schemas/responses';
import { collections, fields, subcollections } from '../firestore/collections';
import { DELETED, type Database, type CommitWrites } from '../firestore/database';
import { decodeNumber, type PriceEntryBatch } from '../firestore/price-entries';
import { toMarket } from './organisation';

/**
 * Reads and writes the records of add price lists. Every write can be repeated, because entries and
 * chunks are fixed values under fixed ids, and a key record is written only if it is unchanged since it
 * was read.
 */

export const newDocumentId = ({ firestore }: Database): string =>
  firestore.collection(collections.priceListRequests).doc().id;

export const keyDocumentId = (boqListId: string): string =>
  createHash('sha256').update(boqListId, 'utf8').digest('hex');

export type KeyReference = DocumentReference;

interface KeyMetadata {
  reference: KeyReference;
  /** The stored `sweep_due_at`; null if there is none. */
  sweepDueAt: number | null;
  /** When Firestore read the record, by its clock in Unix milliseconds. The record's last change is not later. */
  readAt: number;
}

export interface KeySnapshot extends KeyMetadata {
  record: KeyRecord | undefined;
  /** When the record was last written; undefined if there is no record. */
  version: Timestamp | undefined;
}

/** A key record that a query found. One that is `unreadable` does not parse. */
export type FoundKey = KeyMetadata & ({ kind: 'readable'; record: KeyRecord } | { kind: 'unreadable' });

export const isKeyOf = ({ id }: KeyReference, boqListId: string): boolean => id === keyDocumentId(boqListId);

export async function readKey(db: Database, reference: KeyReference): Promise<KeySnapshot> {
  const [key] = await db.getAll(reference);
  return toKeySnapshot(key);
}

export async function readKeyAndMarket(db: Database, key: KeyReference, marketId: string) {
  if (!isDocumentId(marketId)) return { key: await readKey(db, key), market: null };
  const reference = db.firestore.collection(collections.markets).doc(marketId);
  const [found, market] = await db.getAll(key, reference);
  return { key: toKeySnapshot(found), market: market.exists ? toMarket(market.data() ?? {}) : null };
}

export const KEYS_PER_PAGE = 100;

/**
 * Reads a page of the keys that are due, the longest due first. Firestore's clock decides what is due,
 * so the page ends before the first key that was not due when it was read.
 *
 * @param from the last key of the previous page; or a due time in Unix milliseconds to begin at;
 * undefined for the first page
 * @returns `isLast`: no other key was due. `readAt`: when Firestore read the last document; undefined without one
 */
export async function readDueKeys(db: Database, from: FoundKey | number | undefined) {
  const page = keyRecords(db).orderBy('sweep_due_at').orderBy('__name__').limit(KEYS_PER_PAGE);
  const keys: FoundKey[] = [];
  let readAt: number | undefined;
  for await (const document of db.stream(startAt(page, from))) {
    const key = toFoundKey(document);
    readAt = key.readAt;
    if (key.sweepDueAt !== null && key.sweepDueAt > readAt) return { keys, isLast: true, readAt };
    keys.push(key);
  }
  return { keys, isLast: keys.length < KEYS_PER_PAGE, readAt };
}

function startAt(page: Query, from: FoundKey | number | undefined): Query {
  if (from === undefined) return page;
  return typeof from === 'number' ? page.startAt(from) : page.startAfter(from.sweepDueAt, from.reference.id);
}

export const countKeysInReview = (db: Database): Promise<number> =>
  db.count(keyRecords(db).where('status', '==', 'requires_review'));

export function toFoundKey(document: QueryDocumentSnapshot): FoundKey {
  const record = parseKeyRecord(document.data());
  const metadata = toKeyMetadata(document);
  return record === undefined ? { kind: 'unreadable', ...metadata } : { kind: 'readable', record, ...metadata };
}

/**
 * Writes a key record. The commit fails with ALREADY_EXISTS or FAILED_PRECONDITION if the record has
 * changed since `key` was read.
 *
 * @param sweepDueAt when the record becomes due for the sweep, in Unix milliseconds; null removes the
 * field, and with it the record from the sweep's index
 */
export function setKey(writes: CommitWrites, key: KeySnapshot, record: KeyRecord, sweepDueAt: number | null): void {
  const isDue = sweepDueAt !== null && { sweep_due_at: sweepDueAt };
  if (key.version === undefined) writes.create(key.reference, { ...record, ...isDue });
  else writes.update(key.reference, { sweep_due_at: DELETED, ...record, ...isDue }, { lastUpdateTime: key.version });
}

/** Removes a record from the sweep's index. The commit fails under the same conditions as that of {@link setKey}. */
export function clearSweepDueAt(writes: CommitWrites, { reference, version }: KeySnapshot): void {
  if (version !== undefined) writes.update(reference, { sweep_due_at: DELETED }, { lastUpdateTime: version });
}

/** Marks both lists of an attempt as failed. Skips a list with an invalid id, because it cannot exist. */
export function failLists(db: Database, writes: CommitWrites, { lists, updated_at }: KeyRecord): void {
  if (lists === null) return;
  const kinds = LIST_KINDS.filter((kind) => isDocumentId(lists[`${kind}_id`]));
  // Merges, so that an attempt can be resolved even if its list documents were deleted.
  for (const kind of kinds)
    writes.set(listDocument(db, kind, lists), { status: 'failed', updated_at }, { merge: true });
}

export function setListDocuments(
  db: Database,
  writes: CommitWrites,
  lists: ClaimedLists,
  documents: { expected_forward_cost: ListDocument; price_list: PriceListDocument },
): void {
  for (const kind of LIST_KINDS) writes.set(listDocument(db, kind, lists), documents[kind]);
}

export function setRequestRecord(
  db: Database,
  writes: CommitWrites,
  attempt: Attempt,
  info: PriceListInfo,
  requestId: string,
): void {
  const { lists } = attempt;
  writes.set(requestDocument(db, attempt.document_id), {
    schema_version: 1,
    info,
    request_id: requestId,
    trace_id: attempt.trace_id,
    key_id: attempt.key_id,
    products_count: attempt.products_count,
    fingerprint: attempt.fingerprint,
    market_id: attempt.market_id,
    ...getMarketFacts(attempt),
    expected_forward_cost_id: lists?.expected_forward_cost_id ?? null,
    price_list_id: lists?.price_list_id ?? null,
    created_at: attempt.claimed_at,
    payload_encoding: 'gzip',
    payload_chunks: attempt.payload_chunks,
  });
}

/** Chunks are read in the order of their ids. Four digits are enough for the largest request. */
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

export async function readPayloadChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of db.stream(requestDocument(db, document_id).collection(subcollections.payload))) {
    const data: unknown = chunk.get('data');
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

export const LIST_COLLECTIONS = {
  expected_forward_cost: collections.expectedForwardCosts,
  price_list: collections.priceLists,
};

export type ListKind = keyof typeof LIST_COLLECTIONS;

export const LIST_KINDS = ['expected_forward_cost', 'price_list'] as const satisfies ListKind[];

export const listDocument = ({ firestore }: Database, kind: ListKind, lists: ClaimedLists): DocumentReference =>
  firestore.collection(LIST_COLLECTIONS[kind]).doc(lists[`${kind}_id`]);

export const entriesCollection = (db: Database, kind: ListKind, lists: ClaimedLists): CollectionReference =>
  listDocument(db, kind, lists).collection(subcollections.products);

export type EntryColumns = Pick<PriceEntryBatch, 'ids' | 'prices'>;

export function writeEntryBatch(
  db: Database,
  kind: ListKind,
  lists: ClaimedLists,
  { ids, prices }: EntryColumns,
): Promise<void> {
  const collection = entriesCollection(db, kind, lists).path;
  return db.commitPriceEntries({ collection, field: fields.entry[kind], ids, prices });
}

/**
 * Streams the stored entries of a list in the order of their product ids. The price is undefined if it
 * is not a number.
 */
export async function* streamStoredEntries(
  db: Database,
  kind: ListKind,
  lists: ClaimedLists,
): AsyncGenerator<[id: string, price: number | undefined]> {
  const field = fields.entry[kind];
  const query = { parent: listDocument(db, kind, lists).path, collection: subcollections.products, fields: [field] };
  for await (const entries of db.streamQuery(query, (response) => decodeNumber(response, field))) yield* entries;
}

function toKeyMetadata(document: DocumentSnapshot): KeyMetadata {
  const dueAt: unknown = document.get('sweep_due_at');
  return {
    reference: document.ref,
    sweepDueAt: typeof dueAt === 'number' ? dueAt : null,
    readAt: document.readTime.toMillis(),
  };
}

const toKeySnapshot = (document: DocumentSnapshot): KeySnapshot => ({
  ...toKeyMetadata(document),
  record: document.exists ? requireKeyRecord(document.data() ?? {}) : undefined,
  version: document.updateTime,
});

export const keyRecords = ({ firestore }: Database): CollectionReference =>
  firestore.collection(collections.priceListIdempotency);

export const keyDocument = (db: Database, boqListId: string): KeyReference =>
  keyRecords(db).doc(keyDocumentId(boqListId));

export const requestDocument = ({ firestore }: Database, documentId: string) =>
  firestore.collection(collections.priceListRequests).doc(documentId);
