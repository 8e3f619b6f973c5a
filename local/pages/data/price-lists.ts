import type { DocumentReference, DocumentSnapshot, Firestore } from '@google-cloud/firestore';
import { findBoqListIds, ID_TYPE_OF, ID_TYPES, type IdType } from '../../../functions/records/stored-records';
import { isDocumentId } from '../../../functions/src/lib/document-id';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { createDatabase } from '../../../functions/src/lib/firestore/database';
import { keyDocument } from '../../../functions/src/lib/repositories/price-lists';
import { createWorkContext } from '../../../functions/src/lib/work-context';

/** Reads which request, key and lists belong together. */

/** An accepted request, with the status of its price list. The status is undefined if there is no list. */
export interface RequestRow {
  request: DocumentSnapshot;
  status: unknown;
}

/** Finds the requests of the keys that an id matches. It can be any id that `npx --no price-lists show` takes. */
export async function findRequests(
  firestore: Firestore,
  id: string,
  idTypes: readonly IdType[] = ID_TYPES,
): Promise<RequestRow[]> {
  const db = createDatabase(firestore, createWorkContext(new AbortController().signal));
  const boqListIds = await Promise.all(idTypes.map((idType) => findBoqListIds(db, id, idType)));
  const keys = await getAll(
    firestore,
    [...new Set(boqListIds.flat())].map((boqListId) => keyDocument(db, boqListId)),
  );
  const attempts = keys.flatMap((key) => [key.data(), ...toArray(key.get('history'))]);
  const requestIds = attempts.map((attempt) => (attempt as { document_id?: unknown } | undefined)?.document_id);
  const requests = await getAll(firestore, toReferences(firestore, collections.priceListRequests, requestIds));
  return readRows(
    firestore,
    requests.filter(({ exists }) => exists),
  );
}

/** Finds the requests that a key record, a request or a list belongs to; none for any other document. */
export function findRequestsOf(firestore: Firestore, { parent, id }: DocumentReference): Promise<RequestRow[]> {
  const idType = Object.entries(ID_TYPE_OF).find(([collection]) => collection === parent.path)?.[1];
  return idType === undefined ? Promise.resolve([]) : findRequests(firestore, id, [idType]);
}

export async function readRows(firestore: Firestore, requests: readonly DocumentSnapshot[]): Promise<RequestRow[]> {
  const listIds = requests.map((request): unknown => request.get('price_list_id'));
  const lists = await getAll(firestore, toReferences(firestore, collections.priceLists, listIds));
  const statuses = new Map(lists.map((list) => [list.id, list.get('status') as unknown]));
  return requests.map((request, i) => ({ request, status: statuses.get(String(listIds[i])) }));
}

/** Finds the documents with an id in the named collections. */
export async function findDocuments(
  firestore: Firestore,
  names: readonly string[],
  id: string,
): Promise<DocumentReference[]> {
  const references = names.flatMap((collection) => toReferences(firestore, collection, [id]));
  return (await getAll(firestore, references)).filter(({ exists }) => exists).map(({ ref }) => ref);
}

/** Reads documents. The client refuses a call without documents. */
const getAll = (firestore: Firestore, references: readonly DocumentReference[]): Promise<DocumentSnapshot[]> =>
  references.length === 0 ? Promise.resolve([]) : firestore.getAll(...references);

const toReferences = (firestore: Firestore, collection: string, ids: readonly unknown[]): DocumentReference[] =>
  ids
    .filter((id) => typeof id === 'string' && isDocumentId(id))
    .map((id) => firestore.collection(collection).doc(id as string));

const toArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
