import {
  FieldPath,
  type Firestore,
  type CollectionReference,
  type DocumentSnapshot,
  type Query,
} from '@google-cloud/firestore';
import { status } from '@grpc/grpc-js';

/** Reads what the data pages show. It never writes. */

export const PAGE_SIZE = 50;

/** The number of documents of a subcollection on its document's page. */
const PREVIEW_SIZE = 10;

export interface CollectionView {
  /** The documents to show. Their order is by id unless `sort` is given. */
  filter?: { field: string; value: string };
  sort?: { field: string; direction: 'asc' | 'desc' };
  /** Id of the document before the first one to show. */
  after?: string;
  /** Shows documents from this id on. */
  from?: string;
}

export interface CollectionPage {
  path: string;
  documents: readonly DocumentSnapshot[];
  /** Documents that match, over all pages. */
  count: number;
  /** Id to continue after, if there is a next page. */
  next: string | undefined;
}

export interface DocumentPage {
  document: DocumentSnapshot;
  subcollections: readonly CollectionPage[];
}

export interface DataSource {
  listCollections: () => Promise<string[]>;
  countDocuments: (collection: string) => Promise<number>;
  readCollection: (path: string, view: CollectionView) => Promise<CollectionPage>;
  readDocument: (path: string) => Promise<DocumentPage>;
}

export function createDataSource(firestore: Firestore): DataSource {
  return {
    listCollections: async () => (await firestore.listCollections()).map(({ id }) => id).sort(),
    countDocuments: (collection) => countMatches(firestore.collection(collection)),
    readCollection: (path, view) => readPage(firestore.collection(path), view, PAGE_SIZE),
    readDocument: async (path) => {
      const reference = firestore.doc(path);
      const [document, collections] = await Promise.all([reference.get(), reference.listCollections()]);
      const subcollections = await Promise.all(collections.map((collection) => readPage(collection, {}, PREVIEW_SIZE)));
      return { document, subcollections };
    },
  };
}

async function readPage(collection: CollectionReference, view: CollectionView, size: number): Promise<CollectionPage> {
  const { filter, sort } = view;
  const filtered: Query =
    filter === undefined ? collection : collection.where(new FieldPath(filter.field), '==', parseValue(filter.value));
  const ordered =
    sort === undefined
      ? filtered.orderBy(FieldPath.documentId())
      : filtered.orderBy(new FieldPath(sort.field), sort.direction);
  const [{ docs }, count] = await Promise.all([
    startPage(ordered, collection, view).then((query) => query.limit(size + 1).get()),
    countMatches(filtered),
  ]);
  const documents = docs.slice(0, size);
  return { path: collection.path, documents, count, next: docs.length > size ? documents.at(-1)?.id : undefined };
}

async function startPage(
  query: Query,
  collection: CollectionReference,
  { after, from, sort }: CollectionView,
): Promise<Query> {
  if (after !== undefined) return query.startAfter(sort === undefined ? after : await collection.doc(after).get());
  return from === undefined || sort !== undefined ? query : query.startAt(from);
}

/** Whether Firestore refused the request for a page, such as an order by a field without an index. */
export function isRefusal(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  // A refusal by the client itself has no code.
  return code === undefined || code === status.INVALID_ARGUMENT || code === status.FAILED_PRECONDITION;
}

const countMatches = async (query: Query): Promise<number> => (await query.count().get()).data().count;

/** Parses the value of a filter. Links write it as JSON, which tells 1 from "1". */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
