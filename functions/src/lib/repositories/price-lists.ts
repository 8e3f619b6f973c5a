import { createHash } from 'node:crypto';
import type { CollectionReference, DocumentReference, DocumentSnapshot, Timestamp } from 'firebase-admin/firestore';
import { createListDocuments } from '../../price-lists/list-documents';
import { transition, type KeyEvent, type KeyOutcome } from '../../price-lists/key-state-machine';
import { MAX_TEXT_BYTES } from '../schemas/requests';
import type { PriceListInfo, ProductColumns } from '../schemas/add-price-lists';
import { parseKeyRecord, type Attempt, type Creation, type KeyRecord } from '../schemas/key-record';
import { collections, fields, subcollections } from '../firestore/collections';
import type { Database, CommitWrites } from '../firestore/database';
import { getHashOrder } from '../firestore/spread';
import { toMarket } from './organisation';

/**
 * The records of add price lists.
 *
 * A step of a key is a transaction in two calls: its record is read, and one commit writes what follows from it, under the
 * precondition that the record is still the one that was read. So of two steps at a time one takes effect; a commit that
 * arrives late, when its sender has long given up, finds another record and does nothing; and no lock is left behind
 * by a call whose reply was lost, as one would be by a transaction that locks what it reads.
 *
 * Every function is one try, and may be tried again whatever became of it: ids and tokens are made outside, entries and
 * chunks are fixed values under fixed ids, and a step that is tried again recognises by the owner what it wrote before.
 */

/** A post's claim on its key. */
export interface ClaimRequest {
  info: PriceListInfo;
  /** The attempt, but for what its market and its payload decide. */
  attemptDraft: Omit<Attempt, 'creation' | 'payload_chunks'>;
  /** What its lists will be called if a market matches. */
  listIds: Pick<Creation, 'expected_forward_cost_id' | 'price_list_id'>;
  /** The packed payload, and how many of its chunks, from the first, go with the claim; asked only if the key is free. */
  loadPayload: () => Promise<{ chunks: readonly Buffer[]; inlineChunkCount: number }>;
  /** The answer of the attempt if no market matches and the payload is whole with this commit. */
  createResponse: (attempt: Attempt) => string;
  now: number;
}

/** A fresh document id; chosen before the first try of what uses it. */
export const newDocumentId = ({ firestore }: Database): string =>
  firestore.collection(collections.priceListRequests).doc().id;

/** The id of a key's record: lowercase hex SHA-256 of the key in UTF-8. */
export const keyDocumentId = (boq_list_id: string): string =>
  createHash('sha256').update(boq_list_id, 'utf8').digest('hex');

/** Claims the key if it is free; one commit holds the key's record, the request record, its payload and both parents. */
export async function commitClaim(
  db: Database,
  { info, attemptDraft, listIds, loadPayload, createResponse, now }: ClaimRequest,
  signal: AbortSignal,
): Promise<KeyOutcome> {
  const { key, market } = await readKeyAndMarket(db, info);
  const met = await commitTransition(db, key, { kind: 'inspected', by: attemptDraft }, now, signal);
  if (met.kind !== 'available') return met;

  const { chunks, inlineChunkCount } = await loadPayload();
  const creation = market && {
    ...listIds,
    market_name: nullIfTooLong(market.name),
    market_iso: nullIfTooLong(market.country_iso),
    currency: nullIfTooLong(market.currency_iso) ?? info.currency_iso,
  };
  const attempt: Attempt = { ...attemptDraft, payload_chunks: chunks.length, creation };
  const completes = creation === null && inlineChunkCount === chunks.length;
  const event = { kind: 'submitted', info, attempt, response: completes ? createResponse(attempt) : null } as const;
  return commitTransition(db, key, event, now, signal, (writes) => {
    const { document_id } = attempt;
    writes.set(requestDocument(db, document_id), toRequestRecord(info, attempt));
    chunks
      .slice(0, inlineChunkCount)
      .forEach((chunk, index) => setPayloadChunk(db, writes, { document_id, index, data: chunk }));
    if (creation !== null) {
      const parents = createListDocuments(attempt, creation, info, 'processing', now);
      writes.set(listDocument(db, 'expected_forward_cost', creation), parents.expectedForwardCost);
      writes.set(listDocument(db, 'price_list', creation), parents.priceList);
    }
  });
}

/** Takes one step of a key; `last`, a chunk of its payload, is written with it if the step completes the attempt. */
export async function applyKeyEvent(
  db: Database,
  boq_list_id: string,
  event: KeyEvent,
  now: number,
  signal: AbortSignal,
  lastChunk?: PayloadChunk,
): Promise<KeyOutcome> {
  const [key] = await db.getAll(keyDocument(db, boq_list_id));
  return commitTransition(db, toKeySnapshot(key), event, now, signal, (writes, record) => {
    if (lastChunk !== undefined && record.status === 'completed') setPayloadChunk(db, writes, lastChunk);
  });
}

/** One chunk of an accepted payload. */
export interface PayloadChunk {
  document_id: string;
  index: number;
  data: Buffer;
}

/** Writes a chunk that did not go with the claim. */
export function writePayloadChunk(db: Database, chunk: PayloadChunk): Promise<void> {
  return db.commit((writes) => setPayloadChunk(db, writes, chunk));
}

/** The two lists of an attempt: their collection, the field of their id, and of an entry's price, sent and stored. */
export const LIST_DEFINITIONS = {
  expected_forward_cost: {
    collection: collections.expectedForwardCosts,
    idField: 'expected_forward_cost_id',
    priceField: 'expected_forward_cost_price',
    storedPriceField: fields.entry.expectedForwardCostPrice,
  },
  price_list: {
    collection: collections.priceLists,
    idField: 'price_list_id',
    priceField: 'price_list_price',
    storedPriceField: fields.entry.priceListPrice,
  },
} as const;

export type ListKind = keyof typeof LIST_DEFINITIONS;

/** The entries of a list. */
export const entriesCollection = (db: Database, kind: ListKind, creation: Creation): CollectionReference =>
  listDocument(db, kind, creation).collection(subcollections.products);

/** Entries of one list: at the place of an id is its price. */
export interface EntryColumns {
  ids: readonly string[];
  prices: Float64Array;
}

/** Returns the entries of a list of these products, in an order that spreads each batch over the collection. */
export function toEntryColumns(kind: ListKind, products: ProductColumns): EntryColumns {
  const unordered = products[LIST_DEFINITIONS[kind].priceField];
  const ids: string[] = [];
  const prices = new Float64Array(unordered.length);
  getHashOrder(products.ids).forEach((index, i) => {
    ids.push(products.ids[index] ?? '');
    prices[i] = unordered[index] ?? NaN;
  });
  return { ids, prices };
}

/** Writes one batch of a list's entries, at most 500 (contract, section 4.6, rule 4), in one commit. */
export function writeEntryBatch(
  db: Database,
  kind: ListKind,
  creation: Creation,
  { ids, prices }: EntryColumns,
): Promise<void> {
  const collection = entriesCollection(db, kind, creation).path;
  return db.commitNumberDocuments({ collection, field: LIST_DEFINITIONS[kind].storedPriceField, ids, values: prices });
}

/** A key's record as it was read. */
interface KeySnapshot {
  reference: DocumentReference;
  record: KeyRecord | undefined;
  /** When the record was last written; undefined when there is none. */
  version: Timestamp | undefined;
}

/**
 * Lets the state machine judge an event, and commits what follows: the key's record, its parents' status, and whatever
 * goes along with it.
 */
async function commitTransition(
  db: Database,
  key: KeySnapshot,
  event: KeyEvent,
  now: number,
  signal: AbortSignal,
  addExtraWrites: (writes: CommitWrites, record: KeyRecord) => void = () => undefined,
): Promise<KeyOutcome> {
  const { record, verdict } = transition(key.record, event, now);
  if (record === undefined || record === key.record) return verdict;
  // A try that was given up while it read goes no further: who gave it up may have believed what he then found.
  signal.throwIfAborted();
  await db.commit((writes) => {
    if (key.version === undefined) writes.create(key.reference, record);
    else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });
    if (key.record?.status === 'processing') updateListStatuses(db, writes, record);
    addExtraWrites(writes, record);
  });
  return verdict;
}

/** Gives the parents of an attempt that is over the status that it ended with. */
function updateListStatuses(db: Database, writes: CommitWrites, { status, creation, updated_at }: KeyRecord): void {
  if (creation === null) return;
  const parents = [listDocument(db, 'expected_forward_cost', creation), listDocument(db, 'price_list', creation)];
  switch (status) {
    case 'completed':
      parents.forEach((parent) => writes.update(parent, { status: 'ready', updated_at }));
      break;
    case 'requires_review':
    case 'released':
      // Merged, so that an attempt can be settled even where somebody has deleted its parents.
      parents.forEach((parent) => writes.set(parent, { status: 'failed', updated_at }, { merge: true }));
      break;
    case 'processing':
      break;
  }
}

async function readKeyAndMarket(db: Database, { boq_list_id, market_id }: PriceListInfo) {
  const reference = keyDocument(db, boq_list_id);
  if (!isDocumentId(market_id)) return { key: toKeySnapshot((await db.getAll(reference))[0]), market: null };
  const [key, market] = await db.getAll(reference, db.firestore.collection(collections.markets).doc(market_id));
  return { key: toKeySnapshot(key), market: market?.exists === true ? toMarket(market.data() ?? {}) : null };
}

function toKeySnapshot(document: DocumentSnapshot | undefined): KeySnapshot {
  if (document === undefined) throw new Error('Firestore answered fewer documents than it was asked for');
  const record = document.exists ? parseKeyRecord(document.data()) : undefined;
  return { reference: document.ref, record, version: document.updateTime };
}

function toRequestRecord(info: PriceListInfo, attempt: Attempt): object {
  const { products_count, fingerprint, market_id, creation, claimed_at, payload_chunks } = attempt;
  return {
    schema_version: 1,
    info,
    products_count,
    fingerprint,
    market_id,
    expected_forward_cost_id: creation?.expected_forward_cost_id ?? null,
    price_list_id: creation?.price_list_id ?? null,
    created_at: claimed_at,
    payload_encoding: 'gzip',
    payload_chunks,
  };
}

const keyDocument = ({ firestore }: Database, boq_list_id: string) =>
  firestore.collection(collections.priceListIdempotency).doc(keyDocumentId(boq_list_id));

const requestDocument = ({ firestore }: Database, document_id: string) =>
  firestore.collection(collections.priceListRequests).doc(document_id);

/** The parent of a list. */
export const listDocument = ({ firestore }: Database, kind: ListKind, creation: Creation): DocumentReference =>
  firestore.collection(LIST_DEFINITIONS[kind].collection).doc(creation[LIST_DEFINITIONS[kind].idField]);

/** Chunks stand in the order of their ids: four digits are enough for the largest request. */
function setPayloadChunk(db: Database, writes: CommitWrites, { document_id, index, data }: PayloadChunk): void {
  const chunks = requestDocument(db, document_id).collection(subcollections.payload);
  writes.set(chunks.doc(String(index).padStart(4, '0')), { [fields.payloadChunk.data]: data });
}

/** A market's text as the records of a list hold it: one too long for a text field is unusable, as if it were missing. */
const nullIfTooLong = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

/** Whether Firestore could hold a document under this id: any other matches none. */
const isDocumentId = (id: string): boolean =>
  !id.includes('/') && id !== '.' && id !== '..' && !/^__.*__$/s.test(id) && Buffer.byteLength(id) <= 1500;
