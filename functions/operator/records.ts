import { addAbortSignal, type Readable } from 'node:stream';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Firestore, type Query, type QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { collections, fields, subcollections } from '../src/lib/repositories/collections';
import type { Deadlines } from '../src/lib/repositories/connection';
import { connect, type Database } from '../src/lib/repositories/database';
import { entriesOf, keyId, lists, parentOf, type ListKind } from '../src/lib/repositories/price-lists';
import { keyRecord, readKeyRecord, type Attempt, type Creation, type KeyRecord } from '../src/lib/schemas/key-record';
import { storedText } from '../src/lib/schemas/stored';

/** What an operator reads of the records of add price lists; what he changes goes through the service's own steps. */

/** An operator may be far from the database, and a payload is up to 30 MB. */
export const DEADLINES: Deadlines = { read: 60_000, commit: 60_000, query: 600_000 };

/** A client of the project's database, or of the emulator that FIRESTORE_EMULATOR_HOST names. */
export const clientOf = (projectId: string): Firestore =>
  connect(getFirestore(initializeApp({ projectId }, `operator-${projectId}`)), DEADLINES);

/** The records of keys in any of the statuses. One that does not parse is left out and counted. */
export async function readKeys(
  db: Database,
  statuses: readonly KeyRecord['status'][],
): Promise<{ records: KeyRecord[]; unreadable: string[] }> {
  const records: KeyRecord[] = [];
  const unreadable: string[] = [];
  const keys = db.firestore.collection(collections.priceListIdempotency).where('status', 'in', statuses);
  for await (const document of stream(db, keys)) {
    const parsed = keyRecord.safeParse(document.data());
    if (parsed.success) records.push(parsed.data);
    else unreadable.push(document.ref.path);
  }
  return { records, unreadable };
}

/** The record of a key, if the key was ever posted. */
export async function readKey(db: Database, boq_list_id: string): Promise<KeyRecord | undefined> {
  const [key] = await db.read(db.firestore.collection(collections.priceListIdempotency).doc(keyId(boq_list_id)));
  return key?.exists === true ? readKeyRecord(key.data()) : undefined;
}

/** The chunks of an attempt's payload that are stored, in their order. */
export async function readChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const request = db.firestore.collection(collections.priceListRequests).doc(document_id);
  const chunks: Buffer[] = [];
  for await (const chunk of stream(db, request.collection(subcollections.payload))) {
    const data: unknown = chunk.get(fields.payloadChunk.data);
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

/** How far a list has come. */
export interface Progress {
  /** The status of its parent; null for one that is not there. */
  status: string | null;
  entries: number;
}

/** How far a list of an attempt has come. */
export async function readProgress(db: Database, kind: ListKind, creation: Creation): Promise<Progress> {
  db.calls += 1;
  const [[parent], entries] = await Promise.all([
    db.read(parentOf(db, kind, creation)),
    entriesOf(db, kind, creation).count().get(),
  ]);
  return { status: storedText(parent?.get('status')), entries: entries.data().count };
}

/** The entries that a list has, one after another: the product's id, and whatever is stored as its price. */
export async function* readEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
): AsyncGenerator<readonly [id: string, price: unknown]> {
  const { stored } = lists[kind];
  for await (const entry of stream(db, entriesOf(db, kind, creation).select(stored))) {
    yield [entry.id, entry.get(stored)];
  }
}

function stream(db: Database, query: Query): AsyncIterable<QueryDocumentSnapshot> {
  db.calls += 1;
  return addAbortSignal(db.signal, query.stream() as unknown as Readable) as AsyncIterable<QueryDocumentSnapshot>;
}
