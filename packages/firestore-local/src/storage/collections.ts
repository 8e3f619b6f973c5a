import { compareIds } from '../protocol/values';

/** A stored document. It is immutable: a write replaces it. Times are microseconds since 1970. */
export interface StoredDoc {
  readonly collection: string;
  readonly id: string;
  /** The fields in the canonical form of codec.ts. */
  readonly fields: Buffer;
  readonly createTime: number;
  readonly updateTime: number;
  /** Its row on disk, set when it is first stored. It is 0 in memory. */
  row: number;
}

/** A change of one document: `doc` replaces `old`. Undefined stands for no document. */
export interface DocumentChange {
  readonly collection: string;
  readonly id: string;
  readonly old: StoredDoc | undefined;
  readonly doc: StoredDoc | undefined;
}

/** The full resource name of a document. */
export const getResourceName = (doc: StoredDoc): string => `${doc.collection}/${doc.id}`;

const LEAF_SIZE = 256;

/** Documents in the order of their ids, at least one. Only a collection of the same generation may change it. */
interface Leaf {
  readonly docs: StoredDoc[];
  readonly generation: number;
}

/** The first index whose item does not sort before the id. */
function lowerBound<T>(items: readonly T[], id: string, getId: (item: T) => string): number {
  const last = items.at(-1);
  // Ids often arrive in order.
  let low = last !== undefined && compareIds(getId(last), id) < 0 ? items.length : 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareIds(getId(items[middle] as T), id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const getId = (doc: StoredDoc): string => doc.id;
const getLastId = (leaf: Leaf): string => leaf.docs.at(-1)?.id ?? '';

/** The documents of a collection at one time, in the order of their ids. */
export class Snapshot {
  constructor(private readonly leaves: readonly Leaf[]) {}

  /** Yields the documents a leaf at a time, in descending order if requested. */
  *batches(descending = false): Generator<readonly StoredDoc[]> {
    for (const leaf of descending ? this.leaves.toReversed() : this.leaves) {
      yield descending ? leaf.docs.toReversed() : leaf.docs;
    }
  }
}

/** An empty collection. */
export const EMPTY_SNAPSHOT = new Snapshot([]);

/**
 * The documents of one collection, by id and sorted by id in leaves of a few hundred, and its recent changes. A snapshot
 * shares the leaves. A leaf that a snapshot may hold is copied before it changes, so a query sees one moment while commits
 * continue. The next snapshot applies all pending changes to the leaves at once, which saves a search for each write.
 */
export class Collection {
  private readonly docs = new Map<string, StoredDoc>();
  private leaves: Leaf[] = [];
  /** Ids whose changes are not in the leaves yet. */
  private readonly unplaced = new Set<string>();
  private generation = 0;
  /** The changes of recent commits, oldest first. */
  private history: { readonly time: number; readonly changes: DocumentChange[] }[] = [];

  constructor(readonly path: string) {}

  /** The number of documents. */
  get size(): number {
    return this.docs.size;
  }

  /** The latest version of a document, or the version at a time in microseconds. */
  get(id: string, readTime = Infinity): StoredDoc | undefined {
    for (const { changes } of this.commitsAfter(readTime)) {
      const change = changes.find((each) => each.id === id);
      if (change) return change.old;
    }
    return this.docs.get(id);
  }

  /** All documents, or all at a time in microseconds. */
  snapshot(readTime = Infinity): Snapshot {
    this.placeChanges();
    this.generation++;
    const commits = this.commitsAfter(readTime);
    if (commits.length === 0) return new Snapshot(this.leaves.slice());
    const past = new Collection(this.path);
    past.generation = this.generation;
    past.leaves = this.leaves.slice();
    for (const { changes } of commits.toReversed()) for (const { id, old } of changes) past.set(id, old);
    past.placeChanges();
    return new Snapshot(past.leaves);
  }

  /** Applies one change of the commit at a time in microseconds. */
  apply(change: DocumentChange, time: number): void {
    const last = this.history.at(-1);
    if (last?.time === time) last.changes.push(change);
    else this.history.push({ time, changes: [change] });
    this.set(change.id, change.doc);
  }

  /** Forgets the changes up to a time. Earlier versions can then no longer be read. */
  forget(time: number): void {
    while (this.history[0] && this.history[0].time <= time) this.history.shift();
  }

  /** Adds documents that are sorted and sort after all others. */
  append(docs: readonly StoredDoc[]): void {
    for (let at = 0; at < docs.length; at += LEAF_SIZE) {
      this.leaves.push({ docs: docs.slice(at, at + LEAF_SIZE), generation: this.generation });
    }
    for (const doc of docs) this.docs.set(doc.id, doc);
  }

  private commitsAfter(time: number): typeof this.history {
    const commits = this.history;
    let first = commits.length;
    while (first > 0 && (commits[first - 1]?.time ?? 0) > time) first--;
    return commits.slice(first);
  }

  private set(id: string, doc: StoredDoc | undefined): void {
    if (doc) this.docs.set(id, doc);
    else this.docs.delete(id);
    this.unplaced.add(id);
  }

  private placeChanges(): void {
    for (const id of [...this.unplaced].sort(compareIds)) this.place(id, this.docs.get(id));
    this.unplaced.clear();
  }

  private place(id: string, doc: StoredDoc | undefined): void {
    const at = Math.min(lowerBound(this.leaves, id, getLastId), Math.max(0, this.leaves.length - 1));
    const docs = this.getOwnedLeaf(at).docs;
    const index = lowerBound(docs, id, getId);
    const exists = docs[index]?.id === id;
    if (doc) docs.splice(index, exists ? 1 : 0, doc);
    else if (exists) docs.splice(index, 1);
    if (docs.length === 0) this.leaves.splice(at, 1);
    else if (docs.length > LEAF_SIZE) this.split(at, docs);
  }

  private getOwnedLeaf(at: number): Leaf {
    const leaf = this.leaves[at];
    if (leaf?.generation === this.generation) return leaf;
    const owned = { docs: leaf?.docs.slice() ?? [], generation: this.generation };
    this.leaves[at] = owned;
    return owned;
  }

  /** Splits a leaf in half. The last leaf stays full instead, because ids may arrive in order. */
  private split(at: number, docs: StoredDoc[]): void {
    const tail = docs.splice(at === this.leaves.length - 1 ? LEAF_SIZE : LEAF_SIZE >>> 1);
    this.leaves.splice(at + 1, 0, { docs: tail, generation: this.generation });
  }
}
