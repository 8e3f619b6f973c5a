import {
  FieldPath,
  type CollectionReference,
  type DocumentSnapshot,
  type Firestore,
  type Query,
} from '@google-cloud/firestore';
import { status } from '@grpc/grpc-js';

/** Reads what the data pages show. It never writes. */

export const PAGE_SIZE = 50;

/** The number of documents of a subcollection on its document's page. */
const PREVIEW_SIZE = 10;

/** The documents of a collection to show. Their order is by id unless `sort` is given. */
export interface CollectionView {
  filter?: { field: string; value: string } | undefined;
  sort?: { field: string; direction: 'asc' | 'desc' } | undefined;
  /** Id of the first document. */
  from?: string | undefined;
}

export interface CollectionPage {
  path: string;
  documents: readonly DocumentSnapshot[];
  /** Documents that match, over all pages. */
  count: number;
  /** Id of the first document of the next page. */
  next: string | undefined;
}

export interface DocumentPage {
  document: DocumentSnapshot;
  subcollections: readonly CollectionPage[];
}

export const listCollections = async (firestore: Firestore): Promise<string[]> =>
  (await firestore.listCollections()).map(({ id }) => id).sort();

export const countDocuments = async (query: Query): Promise<number> => (await query.count().get()).data().count;

export async function readDocument(firestore: Firestore, path: string): Promise<DocumentPage> {
  const reference = firestore.doc(path);
  const [document, collections] = await Promise.all([reference.get(), reference.listCollections()]);
  const subcollections = await Promise.all(collections.map((collection) => readPage(collection, {}, PREVIEW_SIZE)));
  return { document, subcollections };
}

export async function readPage(
  collection: CollectionReference,
  view: CollectionView,
  size = PAGE_SIZE,
): Promise<CollectionPage> {
  const { filter, sort, from } = view;
  const filtered: Query =
    filter === undefined ? collection : collection.where(new FieldPath(filter.field), '==', parseValue(filter.value));
  const ordered =
    sort === undefined
      ? filtered.orderBy(FieldPath.documentId())
      : filtered.orderBy(new FieldPath(sort.field), sort.direction);
  const page = from === undefined ? ordered : ordered.startAt(await collection.doc(from).get());
  const [{ docs }, count] = await Promise.all([page.limit(size + 1).get(), countDocuments(filtered)]);
  return { path: collection.path, documents: docs.slice(0, size), count, next: docs[size]?.id };
}

/** Whether the address of a page asks for something that Firestore refuses, such as an id that it reserves. */
export function isRefusal(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  // A refusal by the client itself has no code.
  return code === undefined || code === status.INVALID_ARGUMENT;
}

/** Parses the value of a filter. Links write it as JSON, which tells 1 from "1". */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
