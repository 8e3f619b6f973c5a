import type { DocumentReference } from 'firebase-admin/firestore';
import { collections, subcollections } from '../firestore/collections';
import type { Database, Writes } from '../firestore/database';
import type { PriceListInfo } from '../schemas/add-price-lists';
import { type KeyRecord } from '../schemas/key-record';
import { getMarketFacts } from '../market-facts';

/** Writes request records, which say who sent what, and writes and reads the payloads of their requests. */

export const newDocumentId = ({ firestore }: Database): string =>
  firestore.collection(collections.priceListRequests).doc().id;

export const requestDocument = ({ firestore }: Database, documentId: string): DocumentReference =>
  firestore.collection(collections.priceListRequests).doc(documentId);

export function createRequest(
  db: Database,
  writes: Writes,
  record: KeyRecord,
  { info, requestId, chunks }: { info: PriceListInfo; requestId: string; chunks: readonly Buffer[] },
): void {
  const { lists } = record;
  const request = requestDocument(db, record.document_id);
  writes.create(request, {
    schema_version: 1,
    info,
    request_id: requestId,
    trace_id: record.trace_id,
    key_id: record.key_id,
    products_count: record.products_count,
    fingerprint: record.fingerprint,
    market_id: record.market_id,
    ...getMarketFacts(record),
    currency: lists?.currency ?? null,
    expected_forward_cost_id: lists?.expected_forward_cost_id ?? null,
    price_list_id: lists?.price_list_id ?? null,
    created_at: record.claimed_at,
    payload_encoding: 'gzip',
    payload_chunks: chunks.length,
  });
  for (const [i, data] of chunks.entries()) writes.create(payloadChunk(request, i), { data });
}

/** Stores in the request record of a released attempt what became of it, and what operators decided about it. */
export function settleRequest(db: Database, writes: Writes, record: KeyRecord): void {
  const { failure, failure_cause, actions, updated_at } = record;
  const released = { at: updated_at, failure, failure_cause, actions };
  // Merges, so that a key can be released even if its request record was deleted.
  writes.set(requestDocument(db, record.document_id), { released }, { merge: true });
}

/**
 * @returns the chunks of a payload in their order, without those that are not bytes; undefined if their ids are not
 * `0000`, `0001` and so on
 */
export async function readPayloadChunks(db: Database, documentId: string): Promise<Buffer[] | undefined> {
  const request = requestDocument(db, documentId);
  const { docs } = await db.get(request.collection(subcollections.payload));
  const chunks = docs.map((chunk): unknown => chunk.get('data')).filter((data) => Buffer.isBuffer(data));
  return docs.every(({ ref }, i) => ref.id === payloadChunk(request, i).id) ? chunks : undefined;
}

/** The id has leading zeros, because Firestore returns chunks in the order of their ids. */
const payloadChunk = (request: DocumentReference, index: number): DocumentReference =>
  request.collection(subcollections.payload).doc(String(index).padStart(4, '0'));
