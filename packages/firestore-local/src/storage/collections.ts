import { compareByKey } from '../protocol/values';

/** A stored document. A write creates a new version and leaves this one unchanged. Times are microseconds since 1970. */
export interface StoredDoc {
  readonly collection: string;
  readonly id: string;
  /** The fields in the canonical form of codec.ts. */
  readonly fields: Buffer;
  readonly createTime: number;
  readonly updateTime: number;
  /** The number of its row on disk, which the commit sets. It stays 0 without a data folder. */
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
 * Returns the first index from `low` to before `high` at which a condition holds, or `high` if
 * there is none. Once the condition holds, it must hold at all later indexes.
 */
export function findFirst(low: number, high: number, holds: (index: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The documents of one collection, and its recent changes. A snapshot is a sorted array that is never changed, so a query sees
 * one moment while commits continue.
 */
export class Collection {
  private docs = new Map<string, StoredDoc>();
  /** The documents in the order of their ids; undefined after a change, until the next snapshot. */
  private sorted: readonly StoredDoc[] | undefined;
  /** The changes of recent commits, oldest first. */
  private history: { readonly time: number; readonly changes: DocumentChange[] }[] = [];

  /** Adds a document that is stored on disk. */
  load(doc: StoredDoc): void {
    this.docs.set(doc.id, doc);
  }

  get size(): number {
    return this.docs.size;
  }

  /** Returns the latest version of a document, or the version at a time in microseconds. */
  get(id: string, readTime = Infinity): StoredDoc | undefined {
    for (const { changes } of this.commitsAfter(readTime)) {
      const change = changes.find((each) => each.id === id);
      if (change) return change.old;
    }
    return this.docs.get(id);
  }

  /** Returns all documents in the order of their ids, now or at a time in microseconds. */
  snapshot(readTime = Infinity): readonly StoredDoc[] {
    const later = this.commitsAfter(readTime);
    if (later.length === 0) {
      // A later sort takes less time, because only later changes are out of order.
      if (!this.sorted) this.docs = sortById(this.docs);
      return (this.sorted ??= [...this.docs.values()]);
    }
    const docs = new Map(this.docs);
    for (const { changes } of later.toReversed()) {
      for (const { id, old } of changes) {
        if (old) docs.set(id, old);
        else docs.delete(id);
      }
    }
    return [...sortById(docs).values()];
  }

  /** Applies one change of the commit at a time in microseconds. */
  apply(change: DocumentChange, time: number): void {
    const { id, doc } = change;
    const last = this.history.at(-1);
    if (last?.time === time) last.changes.push(change);
    else this.history.push({ time, changes: [change] });
    if (doc) this.docs.set(id, doc);
    else this.docs.delete(id);
    this.sorted = undefined;
  }

  /** Forgets the changes up to a time. Earlier versions can then no longer be read. */
  forget(time: number): void {
    while (this.history[0] && this.history[0].time <= time) this.history.shift();
  }

  private commitsAfter(time: number): typeof this.history {
    const commits = this.history;
    let first = commits.length;
    while (first > 0 && (commits[first - 1]?.time ?? 0) > time) first--;
    return commits.slice(first);
  }
}

const sortById = (docs: ReadonlyMap<string, StoredDoc>): Map<string, StoredDoc> =>
  new Map([...docs].sort(compareByKey));
