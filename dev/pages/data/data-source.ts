import { FieldPath, type CollectionReference, type DocumentSnapshot, type Query } from '@google-cloud/firestore';

/** Reads what the data pages show, and never writes. */

export const PAGE_SIZE = 50;

/** Which documents of a collection to show. They are in the order of their ids unless `sort` is given. */
export interface CollectionView {
  filter?: { field: string; value: string } | undefined;
  sort?: { field: string; direction: 'asc' | 'desc' } | undefined;
  /** Id of the first document. */
  from?: string | undefined;
}

export interface CollectionPage {
  path: string;
  documents: readonly DocumentSnapshot[];
  /** The number of documents that match the filter, with those that lack the `sort` field, which the pages omit. */
  count: number;
  /** Id of the first document of the next page. */
  next: string | undefined;
}

export interface CollectionSize {
  path: string;
  count: number;
}

/** Counts the documents of each collection. @returns the sizes in order of path */
export async function readSizes(collections: readonly CollectionReference[]): Promise<CollectionSize[]> {
  const sizes = collections.map(async (each) => ({ path: each.path, count: await countDocuments(each) }));
  return (await Promise.all(sizes)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

const countDocuments = async (query: Query): Promise<number> => (await query.count().get()).data().count;

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

/** Parses the value of a filter. Links write it as JSON, to distinguish 1 from "1". Text that is not JSON is itself the value. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
