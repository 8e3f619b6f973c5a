import type { CollectionReference, DocumentSnapshot, Firestore } from '@google-cloud/firestore';
import { findKeys, getAll, isReadable } from '../../../command/records/find';
import { addOutcomes, type RequestRow } from '../../../command/records/accepted-requests';
import { isDocumentId } from '../../../functions/src/lib/document-id';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { Database } from '../../../functions/src/lib/firestore/database';
import { requestDocument } from '../../../functions/src/lib/repositories/request-records';
import { createWorkContext } from '../../../functions/src/lib/work-context';

/** Reads Firestore for the data pages, and never writes. Code of the operator's command finds the requests of a key or a list. */

/** The page of a collection shows at most this number of documents. */
export const MAX_DOCUMENTS = 50;

function open(firestore: Firestore) {
  const context = createWorkContext(new AbortController().signal);
  return { db: new Database(firestore, context), context };
}

export interface CollectionSize {
  path: string;
  count: number;
}

/** Counts the documents of each collection. @returns the sizes in order of path */
export async function readSizes(all: readonly CollectionReference[]): Promise<CollectionSize[]> {
  const sizes = all.map(async (each) => ({ path: each.path, count: (await each.count().get()).data().count }));
  return (await Promise.all(sizes)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Reads the first documents of a collection in order of id, and counts all its documents. */
export async function readDocuments(collection: CollectionReference) {
  const [{ docs: documents }, count] = await Promise.all([
    collection.limit(MAX_DOCUMENTS).get(),
    collection.count().get(),
  ]);
  return { documents, count: count.data().count };
}

export async function readNewestRequests(firestore: Firestore, limit = MAX_DOCUMENTS): Promise<RequestRow[]> {
  const requests = firestore.collection(collections.priceListRequests).orderBy('created_at', 'desc').limit(limit);
  return readRows(firestore, (await requests.get()).docs);
}

/**
 * Finds the requests that an id or a path leads to. For each key that the id matches, these are the requests through which the id
 * leads to the key, and the request of the current attempt, unless the key's record is unreadable. The id can be any that
 * `npx --no -- price-lists show` accepts.
 */
export async function findRequests(firestore: Firestore, id: string): Promise<RequestRow[]> {
  const { db } = open(firestore);
  const found = await findKeys(db, id);
  const keys = found.map(({ key }) => key).filter(isReadable);
  const present = keys.map(({ record }) => requestDocument(db, record.document_id));
  const named = found.flatMap(({ requests }) => requests.map(({ ref }) => ref));
  const references = new Map([...present, ...named].map((reference) => [reference.path, reference]));
  const requests = await getAll(db, [...references.values()]);
  return readRows(
    firestore,
    requests.filter(({ exists }) => exists),
  );
}

async function readRows(firestore: Firestore, documents: readonly DocumentSnapshot[]): Promise<RequestRow[]> {
  const { db, context } = open(firestore);
  return (await addOutcomes(db, context, documents)).requests.map(({ row }) => row);
}

/** Finds the documents with the given id in the top-level collections. @returns the paths of the documents */
export async function findDocuments(firestore: Firestore, id: string): Promise<string[]> {
  if (!isDocumentId(id)) return [];
  const references = (await firestore.listCollections()).map((collection) => collection.doc(id));
  const documents = await getAll(open(firestore).db, references);
  return documents.filter(({ exists }) => exists).map(({ ref }) => ref.path);
}
