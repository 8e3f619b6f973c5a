import { createHash } from 'node:crypto';
import type { CollectionReference, DocumentReference, DocumentSnapshot, Timestamp } from 'firebase-admin/firestore';
import { parentsOf } from '../../price-lists/records';
import { transition, type KeyEvent, type Verdict } from '../../price-lists/state-machine';
import { MAX_TEXT_BYTES } from '../schemas/requests';
import type { PriceListInfo, Products } from '../schemas/add-price-lists';
import { readKeyRecord, type Attempt, type Creation, type KeyRecord } from '../schemas/key-record';
import { collections, fields, subcollections } from './collections';
import type { Database, Writes } from './database';
import { marketOf } from './organisation';

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
export interface Claim {
  info: PriceListInfo;
  /** The attempt, but for what its market and its payload decide. */
  draft: Omit<Attempt, 'creation' | 'payload_chunks'>;
  /** What its lists will be called if a market matches. */
  ids: Pick<Creation, 'expected_forward_cost_id' | 'price_list_id'>;
  /** The packed payload, and how many of its chunks, from the first, go with the claim; asked only if the key is free. */
  payload: () => Promise<{ chunks: readonly Buffer[]; first: number }>;
  /** The answer of the attempt if no market matches and the payload is whole with this commit. */
  respond: (attempt: Attempt) => string;
  now: number;
}

/** A fresh document id; chosen before the first try of what uses it. */
export const newId = ({ firestore }: Database): string => firestore.collection(collections.priceListRequests).doc().id;

/** The id of a key's record: lowercase hex SHA-256 of the key in UTF-8. */
export const keyId = (boq_list_id: string): string => createHash('sha256').update(boq_list_id, 'utf8').digest('hex');

/** Claims the key if it is free; one commit holds the key's record, the request record, its payload and both parents. */
export async function claim(
  db: Database,
  { info, draft, ids, payload, respond, now }: Claim,
  signal: AbortSignal,
): Promise<Verdict> {
  const { key, market } = await readKeyAndMarket(db, info);
  const met = await take(db, key, { type: 'met', by: draft }, now, signal);
  if (met.is !== 'free') return met;

  const { chunks, first } = await payload();
  const creation = market && {
    ...ids,
    market_name: usable(market.name),
    market_iso: usable(market.country_iso),
    currency: usable(market.currency_iso) ?? info.currency_iso,
  };
  const attempt: Attempt = { ...draft, payload_chunks: chunks.length, creation };
  const completes = creation === null && first === chunks.length;
  const event = { type: 'posted', info, attempt, response: completes ? respond(attempt) : null } as const;
  return take(db, key, event, now, signal, (writes) => {
    const { document_id } = attempt;
    writes.set(requestRecordOf(db, document_id), requestRecord(info, attempt));
    chunks.slice(0, first).forEach((chunk, index) => putChunk(db, writes, { document_id, index, chunk }));
    if (creation !== null) {
      const parents = parentsOf(attempt, creation, info, 'processing', now);
      writes.set(parentOf(db, 'expected_forward_cost', creation), parents.expectedForwardCost);
      writes.set(parentOf(db, 'price_list', creation), parents.priceList);
    }
  });
}

/** Takes one step of a key; `last`, a chunk of its payload, is written with it if the step completes the attempt. */
export async function settle(
  db: Database,
  boq_list_id: string,
  event: KeyEvent,
  now: number,
  signal: AbortSignal,
  last?: PayloadChunk,
): Promise<Verdict> {
  const [key] = await db.read(keyRecordOf(db, boq_list_id));
  return take(db, keyOf(key), event, now, signal, (writes, record) => {
    if (last !== undefined && record.status === 'completed') putChunk(db, writes, last);
  });
}

/** One chunk of an accepted payload. */
export interface PayloadChunk {
  document_id: string;
  index: number;
  chunk: Buffer;
}

/** Writes a chunk that did not go with the claim. */
export function writeChunk(db: Database, chunk: PayloadChunk): Promise<void> {
  return db.commit((writes) => putChunk(db, writes, chunk));
}

/** The two lists of an attempt: their collection, the field of their id, and of an entry's price, sent and stored. */
export const lists = {
  expected_forward_cost: {
    collection: collections.expectedForwardCosts,
    id: 'expected_forward_cost_id',
    price: 'expected_forward_cost_price',
    stored: fields.entry.expectedForwardCostPrice,
  },
  price_list: {
    collection: collections.priceLists,
    id: 'price_list_id',
    price: 'price_list_price',
    stored: fields.entry.priceListPrice,
  },
} as const;

export type ListKind = keyof typeof lists;

/** The entries of a list. */
export const entriesOf = (db: Database, kind: ListKind, creation: Creation): CollectionReference =>
  parentOf(db, kind, creation).collection(subcollections.products);

/** Entries of one list: at the place of an id is its price. */
export interface Entries {
  ids: readonly string[];
  prices: Float64Array;
}

/** The entries that a list of these products has. */
export const entriesFor = (kind: ListKind, products: Products): Entries => ({
  ids: products.ids,
  prices: products[lists[kind].price],
});

/** Writes one batch of a list's entries, at most 500 (contract, section 4.6, rule 4), in one commit. */
export function writeEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
  { ids, prices }: Entries,
): Promise<void> {
  const collection = entriesOf(db, kind, creation).path;
  return db.setNumbers({ collection, field: lists[kind].stored, ids, values: prices });
}

/** A key's record as it was read. */
interface Key {
  reference: DocumentReference;
  record: KeyRecord | undefined;
  /** When the record was last written; undefined when there is none. */
  version: Timestamp | undefined;
}

/**
 * Lets the state machine judge an event, and commits what follows: the key's record, its parents' status, and whatever
 * goes along with it.
 */
async function take(
  db: Database,
  key: Key,
  event: KeyEvent,
  now: number,
  signal: AbortSignal,
  along: (writes: Writes, record: KeyRecord) => void = () => undefined,
): Promise<Verdict> {
  const { record, verdict } = transition(key.record, event, now);
  if (record === undefined || record === key.record) return verdict;
  // A try that was given up while it read goes no further: who gave it up may have believed what he then found.
  signal.throwIfAborted();
  await db.commit((writes) => {
    if (key.version === undefined) writes.create(key.reference, record);
    else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });
    if (key.record?.status === 'processing') turnParents(db, writes, record);
    along(writes, record);
  });
  return verdict;
}

/** Gives the parents of an attempt that is over the status that it ended with. */
function turnParents(db: Database, writes: Writes, { status, creation, updated_at }: KeyRecord): void {
  if (creation === null) return;
  const parents = [parentOf(db, 'expected_forward_cost', creation), parentOf(db, 'price_list', creation)];
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
  const reference = keyRecordOf(db, boq_list_id);
  if (!isDocumentId(market_id)) return { key: keyOf((await db.read(reference))[0]), market: null };
  const [key, market] = await db.read(reference, db.firestore.collection(collections.markets).doc(market_id));
  return { key: keyOf(key), market: market?.exists === true ? marketOf(market.data() ?? {}) : null };
}

function keyOf(document: DocumentSnapshot | undefined): Key {
  if (document === undefined) throw new Error('Firestore answered fewer documents than it was asked for');
  const record = document.exists ? readKeyRecord(document.data()) : undefined;
  return { reference: document.ref, record, version: document.updateTime };
}

function requestRecord(info: PriceListInfo, attempt: Attempt): object {
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

const keyRecordOf = ({ firestore }: Database, boq_list_id: string) =>
  firestore.collection(collections.priceListIdempotency).doc(keyId(boq_list_id));

const requestRecordOf = ({ firestore }: Database, document_id: string) =>
  firestore.collection(collections.priceListRequests).doc(document_id);

/** The parent of a list. */
export const parentOf = ({ firestore }: Database, kind: ListKind, creation: Creation): DocumentReference =>
  firestore.collection(lists[kind].collection).doc(creation[lists[kind].id]);

/** Chunks stand in the order of their ids: four digits are enough for the largest request. */
function putChunk(db: Database, writes: Writes, { document_id, index, chunk }: PayloadChunk): void {
  const chunks = requestRecordOf(db, document_id).collection(subcollections.payload);
  writes.set(chunks.doc(String(index).padStart(4, '0')), { [fields.payloadChunk.data]: chunk });
}

/** A market's text as the records of a list hold it: one too long for a text field is unusable, as if it were missing. */
const usable = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

/** Whether Firestore could hold a document under this id: any other matches none. */
const isDocumentId = (id: string): boolean =>
  !id.includes('/') && id !== '.' && id !== '..' && !/^__.*__$/s.test(id) && Buffer.byteLength(id) <= 1500;
