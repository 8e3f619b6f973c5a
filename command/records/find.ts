import { FieldPath, type DocumentSnapshot, type Query, type QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { isDocumentId, MAX_DOCUMENT_ID_BYTES } from '../../functions/src/lib/document-id';
import { collections, subcollections } from '../../functions/src/lib/firestore/collections';
import type { Database } from '../../functions/src/lib/firestore/database';
import {
  keyDocument,
  keyRecords,
  toKeySnapshot,
  type KeyReference,
  type KeySnapshot,
} from '../../functions/src/lib/repositories/keys';
import { requestDocument } from '../../functions/src/lib/repositories/request-records';
import type { KeyRecord, KeyStatus } from '../../functions/src/lib/schemas/key-record';

/**
 * Finds stored records for the command, the audit and the data pages. These functions do not retry: the command and the
 * audit call them within `retry`.
 */

/** A key whose record exists and parses. */
export type ReadableKey = KeySnapshot & { record: KeyRecord };

export const isReadable = (key: KeySnapshot): key is ReadableKey =>
  key.record !== undefined && key.record !== 'unreadable';

/** What an id can be: the value of one of these fields, or the hash by which a key record is stored. */
const ID_TYPES = [
  'boq_list_id',
  'hash',
  'document_id',
  'price_list_id',
  'expected_forward_cost_id',
  'request_id',
] as const;

type IdType = (typeof ID_TYPES)[number];

/** The type of the document ids in each collection. */
const ID_TYPE_OF: Readonly<Record<string, IdType>> = {
  [collections.priceListIdempotency]: 'hash',
  [collections.priceListRequests]: 'document_id',
  [collections.expectedForwardCosts]: 'expected_forward_cost_id',
  [collections.priceLists]: 'price_list_id',
};

export interface FoundKey {
  key: KeySnapshot;
  /** The types as which the given id matches the key, such as `request_id`. */
  idTypes: IdType[];
  /** The request records through which the given id leads to the key. */
  requests: DocumentSnapshot[];
}

/** Parses the path of a record, such as `price_lists/ID`. */
function parsePath(text: string): { id: string; idType: IdType } | undefined {
  const [collection = '', id = '', ...below] = text.split('/');
  const idType = Object.hasOwn(ID_TYPE_OF, collection) ? ID_TYPE_OF[collection] : undefined;
  return idType !== undefined && id !== '' && below.length === 0 ? { id, idType } : undefined;
}

/**
 * Finds the keys that an id or the path of a record leads to. Clients choose their `boq_list_id` and request ids, so one id can
 * match the keys of several clients. A path that leads to a key is not tried as an id.
 */
export async function findKeys(db: Database, name: string): Promise<FoundKey[]> {
  const path = parsePath(name);
  const found = path === undefined ? [] : await findKeysBy(db, path.id, [path.idType]);
  if (found.length > 0) return found;
  const matches = await Promise.all([name, ...readPrinted(name)].map((each) => findKeysBy(db, each, ID_TYPES)));
  return [...new Map(matches.flat().map((match) => [match.key.reference.path, match])).values()];
}

/** Returns the ids that the command prints as `name`, with JSON escapes, and with or without quotation marks. */
function readPrinted(name: string): string[] {
  return [name, `"${name}"`].flatMap((text) => {
    try {
      const id: unknown = JSON.parse(text);
      return typeof id === 'string' && id !== name && id !== '' ? [id] : [];
    } catch {
      return [];
    }
  });
}

async function findKeysBy(db: Database, id: string, idTypes: readonly IdType[]): Promise<FoundKey[]> {
  const found = new Map<string, Omit<FoundKey, 'key'>>();
  const add = ({ path }: KeyReference, idType: IdType, request?: DocumentSnapshot) => {
    const { idTypes, requests } = found.get(path) ?? { idTypes: [], requests: [] };
    const isKnown = idTypes.includes(idType);
    found.set(path, {
      idTypes: isKnown ? idTypes : [...idTypes, idType],
      requests: request === undefined ? requests : [...requests, request],
    });
  };
  const matches = await Promise.all(idTypes.map((idType) => findRequests(db, id, idType)));
  for (const [i, idType] of idTypes.entries()) {
    if (idType === 'boq_list_id') add(keyDocument(db, id), idType);
    else if (idType === 'hash' && isDocumentId(id)) add(keyRecords(db).doc(id), idType);
    for (const request of matches[i] ?? []) {
      const boqListId: unknown = request.get('info.boq_list_id');
      if (typeof boqListId === 'string') add(keyDocument(db, boqListId), idType, request);
    }
  }
  const keys = await getAll(
    db,
    [...found.keys()].map((path) => db.firestore.doc(path)),
  );
  return keys.flatMap((key) => {
    const match = found.get(key.ref.path);
    return key.exists && match !== undefined ? [{ key: toKeySnapshot(key), ...match }] : [];
  });
}

/** Maximum number of requests that an id of one type finds, because clients can repeat a request id without limit. */
const MAX_MATCHES = 20;

/** Finds the request records whose id of this type is `id`; none for a `boq_list_id` or a hash, which have no index. */
export async function findRequests(db: Database, id: string, idType: IdType): Promise<DocumentSnapshot[]> {
  if (idType === 'boq_list_id' || idType === 'hash') return [];
  if (idType === 'document_id') {
    const documents = isDocumentId(id) ? [requestDocument(db, id)] : [];
    return (await getAll(db, documents)).filter(({ exists }) => exists);
  }
  // A value, so it need not be a valid document id: a client can choose the request id `__x__`.
  if (Buffer.byteLength(id) > MAX_DOCUMENT_ID_BYTES) return [];
  const requests = db.firestore.collection(collections.priceListRequests);
  return (await db.get(requests.where(idType, '==', id).limit(MAX_MATCHES))).docs;
}

/** Reads documents. Without references it makes no call, because the SDK would reject the call. */
export const getAll = (db: Database, references: readonly KeyReference[]): Promise<DocumentSnapshot[]> =>
  references.length === 0 ? Promise.resolve([]) : db.getAll(...references);

export const selectKeys = (db: Database, statuses: readonly KeyStatus[]): Query =>
  keyRecords(db).where('status', 'in', statuses);

/** The statuses of the keys that are neither completed nor released. */
export const UNRESOLVED_STATUSES = ['processing', 'requires_review'] as const satisfies KeyStatus[];

/** The collections whose documents belong to attempts. */
export const ATTEMPT_COLLECTIONS = [
  collections.priceListRequests,
  collections.expectedForwardCosts,
  collections.priceLists,
] as const;

export type AttemptCollection = (typeof ATTEMPT_COLLECTIONS)[number];

/** The subcollection with the entries or the payload of each document. */
export const SUBCOLLECTION_OF = {
  [collections.priceListRequests]: subcollections.payload,
  [collections.expectedForwardCosts]: subcollections.products,
  [collections.priceLists]: subcollections.products,
} as const satisfies Record<AttemptCollection, string>;

/**
 * Finds the id of the collection's next document with entries or payload chunks, even if the document does not exist. Reads
 * an entry or a chunk, because a query of the collection itself finds only existing documents.
 *
 * @param after id of the previous document; '' for the first
 * @returns undefined if there is no further document
 */
export async function findNextParent(
  db: Database,
  collection: AttemptCollection,
  after: string,
): Promise<string | undefined> {
  const subcollection = SUBCOLLECTION_OF[collection];
  // The least path below any document with a greater id, because the ids in these collections contain no U+0000.
  const start = `${collection}/${after}\u0001/${subcollection}/\u0001`;
  const group = db.firestore.collectionGroup(subcollection).where(FieldPath.documentId(), '>=', start);
  const { docs } = await db.get(group.limit(1).select());
  const [found, id] = docs[0]?.ref.path.split('/') ?? [];
  // The query continues into other collections, which can have a subcollection of the same name.
  return found === collection ? id : undefined;
}

/** Finds request records and lists by their path or their id. */
export async function findAttemptDocuments(db: Database, name: string) {
  const path = parsePath(name);
  const id = path?.id ?? name;
  const names = ATTEMPT_COLLECTIONS.filter((each) => path === undefined || ID_TYPE_OF[each] === path.idType);
  const documents = isDocumentId(id) ? names.map((each) => db.firestore.collection(each).doc(id)) : [];
  return (await getAll(db, documents)).filter((document) => document.exists) as QueryDocumentSnapshot[];
}
