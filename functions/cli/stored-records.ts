import { randomUUID } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Firestore, type Query, type QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { collections, fields, subcollections } from '../src/lib/firestore/collections';
import type { CallTimeouts } from '../src/lib/firestore/connection';
import { configureClient, type Database } from '../src/lib/firestore/database';
import {
  entriesCollection,
  isDocumentId,
  listDocument,
  readKey,
  type ListKind,
} from '../src/lib/repositories/price-lists';
import { keyRecordSchema, type Attempt, type Creation, type KeyRecord } from '../src/lib/schemas/key-record';
import { readText } from '../src/lib/schemas/stored';

/** What an operator reads of the records of add price lists. Changes go through the steps of the state machine. */

/** An operator may be far from the database, and a payload is up to 30 MB. A commit ends well before its lease. */
export const CLI_TIMEOUTS_MS: CallTimeouts = { read: 20_000, commit: 20_000, query: 600_000 };

/** A client of its own of the project's database, or of the emulator that FIRESTORE_EMULATOR_HOST names. */
export const createClient = (projectId: string): Firestore =>
  configureClient(getFirestore(initializeApp({ projectId }, `operator-${randomUUID()}`)), CLI_TIMEOUTS_MS);

/** Reads the key records with any of the statuses. @returns also the paths of those that do not parse */
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

/** @returns undefined if no request was ever accepted for the key */
export const getKeyRecord = async (db: Database, boqListId: string): Promise<KeyRecord | undefined> =>
  (await readKey(db, boqListId)).record;

/** A client may send one request id with many requests. */
const MAX_MATCHES = 20;

/** Finds keys by a `boq_list_id`, or else by an id of a response or a log line: of a request, a list or a record. */
export async function findKeyRecords(db: Database, id: string): Promise<KeyRecord[]> {
  const record = await getKeyRecord(db, id);
  if (record !== undefined) return [record];
  const keys = new Set(await findBoqListIds(db, id));
  const records = await Promise.all([...keys].map((key) => getKeyRecord(db, key)));
  return records.filter((found) => found !== undefined);
}

async function findBoqListIds(db: Database, id: string): Promise<string[]> {
  if (!isDocumentId(id)) return [];
  const requests = db.firestore.collection(collections.priceListRequests);
  const [request, key] = await db.getAll(
    requests.doc(id),
    db.firestore.collection(collections.priceListIdempotency).doc(id),
  );
  const found = [request.get('info.boq_list_id'), key.get('boq_list_id')];
  for (const field of ['price_list_id', 'expected_forward_cost_id', 'request_id']) {
    if (found.some((boqListId) => typeof boqListId === 'string')) break;
    for await (const match of stream(db, requests.where(field, '==', id).limit(MAX_MATCHES))) {
      found.push(match.get('info.boq_list_id'));
    }
  }
  return found.filter((boqListId) => typeof boqListId === 'string');
}

/** Reads the stored chunks of an attempt's payload, in order. */
export async function readPayloadChunks(db: Database, { document_id }: Attempt): Promise<Buffer[]> {
  const request = db.firestore.collection(collections.priceListRequests).doc(document_id);
  const chunks: Buffer[] = [];
  for await (const chunk of stream(db, request.collection(subcollections.payload))) {
    const data: unknown = chunk.get('data');
    chunks.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0));
  }
  return chunks;
}

/** Progress of one list of an attempt. */
export interface ListProgress {
  /** Of the list document; null if it does not exist. */
  status: string | null;
  entries: number;
}

export async function readListProgress(db: Database, kind: ListKind, creation: Creation): Promise<ListProgress> {
  const [[list], entries] = await Promise.all([
    db.getAll(listDocument(db, kind, creation)),
    entriesCollection(db, kind, creation).count().get(),
  ]);
  return { status: readText(list.get('status')), entries: entries.data().count };
}

/** Streams the stored entries of a list: the product id, and the stored price as it is. */
export async function* streamStoredEntries(
  db: Database,
  kind: ListKind,
  creation: Creation,
): AsyncGenerator<readonly [id: string, price: unknown]> {
  const priceField = fields.entry[kind];
  for await (const entry of stream(db, entriesCollection(db, kind, creation).select(priceField))) {
    yield [entry.id, entry.get(priceField)];
  }
}

const stream = ({ signal }: Database, query: Query) =>
  addAbortSignal(signal, query.stream() as unknown as Readable) as AsyncIterable<QueryDocumentSnapshot>;
