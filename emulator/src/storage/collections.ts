import { compareByKey } from '../protocol/values';

/** A stored document. A write creates a new version and leaves this one unchanged. Times are microseconds since 1970. */
export interface StoredDoc {
  readonly collection: string;
  readonly id: string;
  /** The fields in the canonical form of codec.ts. */
  readonly fields: Buffer;
  readonly createTime: number;
  readonly updateTime: number;
  /** The number of the document's row on disk. It is 0 until the commit sets it, and stays 0 without a data folder. */
  row: number;
}

/** A change of one document: `doc` replaces `old`. Undefined stands for no document. */
export interface DocumentChange {
  readonly collection: string;
  readonly id: string;
  readonly old: StoredDoc | undefined;
  readonly doc: StoredDoc | undefined;
}

export const getResourceName = (doc: StoredDoc): string => `${doc.collection}/${doc.id}`;

/**
 * Returns the first index below `length` at which a condition holds, or `length` if there is none. Once the condition holds, it
 * must hold at all later indexes.
 */
export function findFirst(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const sortById = (docs: ReadonlyMap<string, StoredDoc>): Map<string, StoredDoc> =>
  new Map([...docs].sort(compareByKey));

/** The current version of each document in one collection. */
export class Collection {
  private docs = new Map<string, StoredDoc>();
  /** The documents in the order of their ids; undefined after a change, until the next snapshot. This array itself never changes. */
  private sorted: readonly StoredDoc[] | undefined;

  get size(): number {
    return this.docs.size;
  }

  get(id: string): StoredDoc | undefined {
    return this.docs.get(id);
  }

  /** Replaces a document. Undefined removes it. */
  set(id: string, doc: StoredDoc | undefined): void {
    if (doc) this.docs.set(id, doc);
    else this.docs.delete(id);
    this.sorted = undefined;
  }

  /** Returns all documents in the order of their ids. Later changes do not affect the result. */
  snapshot(): readonly StoredDoc[] {
    // The sorted map makes a later sort faster, because only later changes are out of order.
    if (!this.sorted) this.docs = sortById(this.docs);
    return (this.sorted ??= [...this.docs.values()]);
  }

  /** Returns the documents as they were before changes, in the order of their ids. @param changes oldest first */
  snapshotBefore(changes: readonly DocumentChange[]): readonly StoredDoc[] {
    const earlier = new Collection();
    for (const doc of this.docs.values()) earlier.set(doc.id, doc);
    for (const { id, old } of changes.toReversed()) earlier.set(id, old);
    return earlier.snapshot();
  }
}
