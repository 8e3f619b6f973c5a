import { createHash } from 'node:crypto';
import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore';
import { parentsOf } from '../../price-lists/records';
import { transition, type KeyEvent, type Verdict } from '../../price-lists/state-machine';
import { MAX_TEXT_BYTES } from '../schemas/requests';
import type { PriceListInfo, ProductId } from '../schemas/add-price-lists';
import { keyRecord, type Attempt, type Creation, type KeyRecord } from '../schemas/key-record';
import { collections, fields, subcollections } from './collections';
import type { Database } from './database';
import { marketOf } from './organisation';

/**
 * The records of add price lists. Every function here is one try of one call or one transaction, and may be tried
 * again whatever became of it: ids and tokens are made outside, entries and chunks are fixed values under fixed ids,
 * and a transaction that runs again recognises by the owner what an earlier run of it wrote.
 */

/** A post's claim on its key. */
export interface Claim {
  info: PriceListInfo;
  /** The attempt, all but what its market decides. */
  draft: Omit<Attempt, 'creation'>;
  /** What its lists will be called if a market matches. */
  ids: { expected_forward_cost_id: string; price_list_id: string };
  /** The chunks of the payload that go with the claim's own commit. */
  chunks: readonly Buffer[];
  /** The answer of the attempt if no market matches and the payload is whole with this commit. */
  respond: (attempt: Attempt) => string;
  now: number;
}

/** A fresh document id; chosen outside every transaction. */
export const newId = ({ firestore }: Database): string => firestore.collection(collections.priceListRequests).doc().id;

/** The id of a key's record: lowercase hex SHA-256 of the key in UTF-8. */
export const keyId = (boq_list_id: string): string => createHash('sha256').update(boq_list_id, 'utf8').digest('hex');

/** Claims the key if it is free, in one transaction, with the request record, its payload and both parents. */
export function claim(db: Database, { info, draft, ids, chunks, respond, now }: Claim): Promise<Verdict> {
  return inTransaction(db, async (transaction) => {
    const { key, market } = await readKeyAndMarket(db, transaction, info);
    const creation = market && {
      ...ids,
      market_name: usable(market.name),
      market_iso: usable(market.country_iso),
      currency: usable(market.currency_iso) ?? info.currency_iso,
    };
    const attempt = { ...draft, creation };
    const completes = creation === null && chunks.length === draft.payload_chunks;
    const response = completes ? respond(attempt) : null;
    const verdict = step(db, transaction, key, { type: 'posted', info, attempt, response }, now);

    const own = verdict.is === 'owned' || (verdict.is === 'completed' && verdict.own);
    if (own && key.record?.owner !== attempt.owner) {
      transaction.set(requestRecordOf(db, attempt.document_id), {
        schema_version: 1,
        info,
        products_count: attempt.products_count,
        fingerprint: attempt.fingerprint,
        market_id: attempt.market_id,
        expected_forward_cost_id: creation?.expected_forward_cost_id ?? null,
        price_list_id: creation?.price_list_id ?? null,
        created_at: attempt.claimed_at,
        payload_encoding: 'gzip',
        payload_chunks: attempt.payload_chunks,
      });
      chunks.forEach((chunk, index) => putChunk(db, transaction, { document_id: attempt.document_id, index, chunk }));
      if (creation !== null) {
        const records = parentRecords(db, creation);
        const parents = parentsOf(attempt, creation, info, 'processing', now);
        transaction.set(records.expectedForwardCost, parents.expectedForwardCost);
        transaction.set(records.priceList, parents.priceList);
      }
    }
    return verdict;
  });
}

/**
 * Takes one step of a key, in one transaction; the chunk, if there is one, is written only if the step is the caller's.
 */
export function settle(
  db: Database,
  boq_list_id: string,
  event: KeyEvent,
  now: number,
  last?: PayloadChunk,
): Promise<Verdict> {
  return inTransaction(db, async (transaction) => {
    db.calls += 1;
    const key = keyOf(await transaction.get(keyRecordOf(db, boq_list_id)));
    const verdict = step(db, transaction, key, event, now);
    if (last !== undefined && verdict.is === 'completed' && verdict.own) putChunk(db, transaction, last);
    return verdict;
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
  return inTransaction(db, (transaction) => {
    putChunk(db, transaction, chunk);
    return Promise.resolve();
  });
}

/** The two lists of an attempt: where their parents stand, and the field of their entries. */
export const lists = {
  expected_forward_cost: {
    collection: collections.expectedForwardCosts,
    price: fields.entry.expectedForwardCostPrice,
  },
  price_list: { collection: collections.priceLists, price: fields.entry.priceListPrice },
} as const;

export type ListKind = keyof typeof lists;

/** Writes one batch of a list's entries, at most 500 (contract, section 4.6, rule 4), in one commit. */
export function writeEntries(
  db: Database,
  kind: ListKind,
  list_id: string,
  entries: readonly (readonly [ProductId, number])[],
): Promise<void> {
  const { collection, price } = lists[kind];
  const products = db.firestore.collection(collection).doc(list_id).collection(subcollections.products);
  return inTransaction(db, (transaction) => {
    for (const [id, value] of entries) transaction.set(products.doc(id), { [price]: value });
    return Promise.resolve();
  });
}

/**
 * One try of a transaction. One that reads nothing is a single commit, atomic and not tried again by the library, whose
 * batches would be repeated for ten minutes with deadlines of their own.
 */
function inTransaction<T>(db: Database, body: (transaction: Transaction) => Promise<T>): Promise<T> {
  db.calls += 1;
  return db.firestore.runTransaction(body, { maxAttempts: 1 });
}

interface Key {
  reference: DocumentReference;
  record: KeyRecord | undefined;
}

/** Lets the state machine judge an event, and writes what follows: the key's record, and its parents' status. */
function step(db: Database, transaction: Transaction, key: Key, event: KeyEvent, now: number): Verdict {
  const { record, verdict } = transition(key.record, event, now);
  if (record === undefined || record === key.record) return verdict;
  transaction.set(key.reference, record);
  if (record.creation !== null && key.record?.status === 'processing') {
    const parents = Object.values(parentRecords(db, record.creation));
    switch (record.status) {
      case 'completed':
        parents.forEach((parent) => transaction.update(parent, { status: 'ready', updated_at: now }));
        break;
      case 'requires_review':
        // Merged, so that an attempt can be settled even where somebody has deleted its parents.
        parents.forEach((parent) => transaction.set(parent, { status: 'failed', updated_at: now }, { merge: true }));
        break;
      case 'processing':
      case 'released':
        break;
    }
  }
  return verdict;
}

async function readKeyAndMarket(db: Database, transaction: Transaction, { boq_list_id, market_id }: PriceListInfo) {
  db.calls += 1;
  const reference = keyRecordOf(db, boq_list_id);
  if (!isDocumentId(market_id)) return { key: keyOf(await transaction.get(reference)), market: null };
  const [key, market] = await transaction.getAll(
    reference,
    db.firestore.collection(collections.markets).doc(market_id),
  );
  if (key === undefined || market === undefined) throw new Error('Firestore answered fewer documents than were asked');
  return { key: keyOf(key), market: market.exists ? marketOf(market) : null };
}

function keyOf(document: DocumentSnapshot): Key {
  return { reference: document.ref, record: document.exists ? keyRecord.parse(document.data()) : undefined };
}

const keyRecordOf = ({ firestore }: Database, boq_list_id: string) =>
  firestore.collection(collections.priceListIdempotency).doc(keyId(boq_list_id));

const requestRecordOf = ({ firestore }: Database, document_id: string) =>
  firestore.collection(collections.priceListRequests).doc(document_id);

const parentRecords = ({ firestore }: Database, { expected_forward_cost_id, price_list_id }: Creation) => ({
  expectedForwardCost: firestore.collection(lists.expected_forward_cost.collection).doc(expected_forward_cost_id),
  priceList: firestore.collection(lists.price_list.collection).doc(price_list_id),
});

/** Chunks stand in the order of their ids: four digits are enough for the largest request. */
function putChunk(db: Database, transaction: Transaction, { document_id, index, chunk }: PayloadChunk): void {
  const chunks = requestRecordOf(db, document_id).collection(subcollections.payload);
  transaction.set(chunks.doc(String(index).padStart(4, '0')), { [fields.payloadChunk.data]: chunk });
}

/** A market's text as the records of a list hold it: one too long for a text field is unusable, as if it were missing. */
const usable = (text: string | null): string | null =>
  text === null || Buffer.byteLength(text) > MAX_TEXT_BYTES ? null : text;

/** Whether Firestore could hold a document under this id: any other matches none. */
const isDocumentId = (id: string): boolean =>
  !id.includes('/') && id !== '.' && id !== '..' && !/^__.*__$/s.test(id) && Buffer.byteLength(id) <= 1500;
