import { addAbortSignal, type Readable } from 'node:stream';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Firestore, type Query, type QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { collections, fields, subcollections } from '../src/lib/firestore/collections';
import type { CallTimeouts } from '../src/lib/firestore/connection';
import { configureClient, type Database } from '../src/lib/firestore/database';
import {
  entriesCollection,
  keyDocumentId,
  LIST_DEFINITIONS,
  listDocument,
  type ListKind,
} from '../src/lib/repositories/price-lists';
import {
  keyRecordSchema,
  parseKeyRecord,
  type Attempt,
  type Creation,
  type KeyRecord,
} from '../src/lib/schemas/key-record';
import { readText } from '../src/lib/schemas/stored';

/** What an operator reads of the records of add price lists; what he changes goes through the service's own steps. */

/** An operator may be far from the database, and a payload is up to 30 MB. */
export const CLI_TIMEOUTS_MS: CallTimeouts = { read: 60_000, commit: 60_000, query: 600_000 };

/** A client of the project's database, or of the emulator that FIRESTORE_EMULATOR_HOST names. */
export const createClient = (projectId: string): Firestore =>
  configureClient(getFirestore(initializeApp({ projectId }, `operator-${projectId}`)), CLI_TIMEOUTS_MS);

/** The records of keys in any of the statuses. One that does not parse is left out and counted. */
export async function listKeyRecords(
  db: Database,
  statuses: readonly KeyRecord['status'][],
): Promise<{ records: KeyRecord[]; unreadable: string[] }> {
  const records: KeyRecord[] = [];
  const unreadable: string[] = [];
  const keys = db.firestore.collection(collections.priceListIdempotency).where('status', 'in', statuses);
  for await (const document of stream(db, keys)) {
    const parsed = keyRecordSchema.safeParse(document.data());
    if (parsed.success) records.push(parsed.data);
    else unreadable.push(document.ref.path);
  }
  return { records, unreadable };
}

/** The record of a key, if the key was ever posted. */
export async function getKeyRecord(db: Database, boq_list_id: string): Promise<KeyRecord | undefined> {
  const [key] = await db.getAll(
    db.firestore.collection(collections.priceListIdempotency).doc(keyDocumentId(boq_list_id)),
  );
  return key?.exists === true ? parseKeyRecord(key.data()) : undefined;
}

/** The chunks of an attempt's payload that are stored, in their order. */
export async function readPayloadChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const request = db.firestore.collection(collections.priceListRequests).doc(document_id);
  const chunks: Buffer[] = [];
  for await (const chunk of stream(db, request.collection(subcollections.payload))) {
    const data: unknown = chunk.get(fields.payloadChunk.data);
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

/** How far a list has come. */
export interface ListProgress {
  /** The status of its parent; null for one that is not there. */
  status: string | null;
  entries: number;
}

/** How far a list of an attempt has come. */
export async function readListProgress(db: Database, kind: ListKind, creation: Creation): Promise<ListProgress> {
  db.callCount += 1;
  const [[parent], entries] = await Promise.all([
    db.getAll(listDocument(db, kind, creation)),
    entriesCollection(db, kind, creation).count().get(),
  ]);
  return { status: readText(parent?.get('status')), entries: entries.data().count };
}

/** The entries that a list has, one after another: the product's id, and whatever is stored as its price. */
export async function* streamStoredEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
): AsyncGenerator<readonly [id: string, price: unknown]> {
  const { storedPriceField } = LIST_DEFINITIONS[kind];
  for await (const entry of stream(db, entriesCollection(db, kind, creation).select(storedPriceField))) {
    yield [entry.id, entry.get(storedPriceField)];
  }
}

function stream(db: Database, query: Query): AsyncIterable<QueryDocumentSnapshot> {
  db.callCount += 1;
  return addAbortSignal(db.signal, query.stream() as unknown as Readable) as AsyncIterable<QueryDocumentSnapshot>;
}
