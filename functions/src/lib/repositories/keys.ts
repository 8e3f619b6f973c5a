import type { CollectionReference, DocumentReference, DocumentSnapshot, Timestamp } from 'firebase-admin/firestore';
import { isDocumentId } from '../document-id';
import { collections } from '../firestore/collections';
import { DELETED, type Database, type Writes } from '../firestore/database';
import { keyDocumentId, parseKeyRecord, type KeyRecord } from '../schemas/key-record';
import { toMarket } from './organisation';

/** Reads and writes key records. Each write requires that the record is unchanged since it was read. */

export type KeyReference = DocumentReference;

export interface KeySnapshot {
  reference: KeyReference;
  /** The record; undefined if there is none, and `unreadable` if {@link parseKeyRecord} rejects it. */
  record: KeyRecord | 'unreadable' | undefined;
  sweepDueAt: number | null;
  /** When Firestore read the record, by its clock in Unix milliseconds. The record's last change is not later. */
  readAt: number;
  /** When the record was last written; undefined if there is none. */
  version: Timestamp | undefined;
}

export const keyRecords = ({ firestore }: Database): CollectionReference =>
  firestore.collection(collections.priceListIdempotency);

export const keyDocument = (db: Database, boqListId: string): KeyReference =>
  keyRecords(db).doc(keyDocumentId(boqListId));

export async function readKey(db: Database, reference: KeyReference): Promise<KeySnapshot> {
  const [key] = await db.getAll(reference);
  return toKeySnapshot(key);
}

/** Reads a key and, in the same call, a market, which is null if no market has the id. */
export async function readKeyAndMarket(db: Database, reference: KeyReference, marketId: string) {
  if (!isDocumentId(marketId)) return { key: await readKey(db, reference), market: null };
  const [key, market] = await db.getAll(reference, db.firestore.collection(collections.markets).doc(marketId));
  return { key: toKeySnapshot(key), market: market.exists ? toMarket(market.data() ?? {}) : null };
}

/** Reads a page of the keys in the sweep's index, the longest due first. @param after the last key of the previous page */
export async function readSweptKeys(db: Database, limit: number, after?: SweptKey): Promise<SweptKey[]> {
  // The filter leaves out values that are not numbers, which Firestore would sort before or after all numbers.
  const query = keyRecords(db).where('sweep_due_at', '>=', 0).orderBy('sweep_due_at').orderBy('__name__').limit(limit);
  const { docs } = await db.get(after === undefined ? query : query.startAfter(after.sweepDueAt, after.reference));
  return docs.map((document) => ({ ...toKeySnapshot(document), sweepDueAt: document.get('sweep_due_at') as number }));
}

export type SweptKey = KeySnapshot & { sweepDueAt: number };

/**
 * Writes a key record. The commit fails with ALREADY_EXISTS or FAILED_PRECONDITION if the record has
 * changed since `key` was read.
 *
 * @param sweepDueAt when the record becomes due for the sweep, in Unix milliseconds; null removes the
 * field, and with it the record from the sweep's index
 */
export function setKey(writes: Writes, key: KeySnapshot, record: KeyRecord, sweepDueAt: number | null): void {
  const dueTime = sweepDueAt !== null && { sweep_due_at: sweepDueAt };
  if (key.version === undefined) writes.create(key.reference, { ...record, ...dueTime });
  else writes.update(key.reference, { sweep_due_at: DELETED, ...record, ...dueTime }, { lastUpdateTime: key.version });
}

/** Removes a record from the sweep's index. The commit fails under the same conditions as that of {@link setKey}. */
export function clearSweepDueAt(writes: Writes, { reference, version }: KeySnapshot): void {
  if (version !== undefined) writes.update(reference, { sweep_due_at: DELETED }, { lastUpdateTime: version });
}

export function toKeySnapshot(document: DocumentSnapshot): KeySnapshot {
  const { sweep_due_at: dueAt, ...stored } = document.data() ?? {};
  return {
    reference: document.ref,
    record: document.exists ? (parseKeyRecord(stored, document.id) ?? 'unreadable') : undefined,
    sweepDueAt: typeof dueAt === 'number' ? dueAt : null,
    readAt: document.readTime.toMillis(),
    version: document.updateTime,
  };
}
