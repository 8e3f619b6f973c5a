import { fieldReader } from './codec';
import { formatFieldPath, type FieldPath } from './paths';
import { compareStrings, equalityKey, type Value } from './values';

/** A stored document. Its content never changes: a write puts another in its place. Times are microseconds since 1970. */
export interface StoredDoc {
  readonly collection: string;
  readonly id: string;
  /** The fields in codec.ts's canonical form. */
  readonly fields: Buffer;
  readonly createTime: number;
  readonly updateTime: number;
  /** Its row on disk, set as it is first stored; 0 when nothing is kept. */
  row: number;
}

/** The full resource name of a document. */
export const getResourceName = (doc: StoredDoc): string => `${doc.collection}/${doc.id}`;

const LEAF_SIZE = 256;

/** A run of documents in the order of their ids. Only a list of the same generation may change it. */
interface Leaf {
  readonly docs: StoredDoc[];
  readonly generation: number;
}

const byId = (doc: StoredDoc, id: string): number => compareStrings(doc.id, id);

/** The first index whose item does not sort before the id. */
function lowerBound<T>(items: readonly T[], id: string, compare: (item: T, id: string) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(items[middle] as T, id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A leaf is never empty. */
const lastSortsBefore = (leaf: Leaf, id: string): number => compareStrings(leaf.docs.at(-1)?.id ?? '', id);

function find(leaves: readonly Leaf[], id: string): StoredDoc | undefined {
  const leaf = leaves[lowerBound(leaves, id, lastSortsBefore)];
  const doc = leaf?.docs[lowerBound(leaf.docs, id, byId)];
  return doc?.id === id ? doc : undefined;
}

/** The documents of a collection at one moment, in the order of their ids. */
export class Snapshot {
  constructor(
    private readonly leaves: readonly Leaf[],
    readonly size: number,
  ) {}

  get(id: string): StoredDoc | undefined {
    return find(this.leaves, id);
  }

  /** The documents, a leaf at a time; backwards for the descending order. */
  *runs(descending = false): Generator<readonly StoredDoc[]> {
    for (const leaf of descending ? this.leaves.toReversed() : this.leaves) {
      yield descending ? leaf.docs.toReversed() : leaf.docs;
    }
  }
}

/** An empty collection. */
export const EMPTY_SNAPSHOT = new Snapshot([], 0);

/**
 * The documents of one collection, sorted by id in leaves of a few hundred. A snapshot shares the leaves; a leaf that a
 * snapshot may hold is copied before it changes, so that a long query reads one moment while commits go on.
 */
export class Collection {
  private leaves: Leaf[] = [];
  private generation = 0;
  private count = 0;
  private changes = 0;
  private readonly indexes = new Map<string, EqualityIndex>();

  constructor(readonly path: string) {}

  get size(): number {
    return this.count;
  }

  get(id: string): StoredDoc | undefined {
    return find(this.leaves, id);
  }

  snapshot(): Snapshot {
    this.generation++;
    return new Snapshot(this.leaves.slice(), this.count);
  }

  /** Grows with every change. */
  get version(): number {
    return this.changes;
  }

  /** Puts a document at its id, or removes the one there. */
  set(id: string, doc: StoredDoc | undefined): void {
    const at = Math.min(lowerBound(this.leaves, id, lastSortsBefore), Math.max(0, this.leaves.length - 1));
    const docs = this.ownedLeaf(at).docs;
    const index = lowerBound(docs, id, byId);
    const old = docs[index]?.id === id ? docs[index] : undefined;
    if (doc) docs.splice(index, old ? 1 : 0, doc);
    else if (old) docs.splice(index, 1);
    this.changes++;
    this.count += Number(doc !== undefined) - Number(old !== undefined);
    for (const indexed of this.indexes.values()) indexed.replace(old, doc);
    if (docs.length === 0) this.leaves.splice(at, 1);
    else if (docs.length > LEAF_SIZE) this.split(at, docs);
  }

  /** Takes documents that are already in order and sort after all that are here: the way in from disk. */
  append(docs: readonly StoredDoc[]): void {
    for (let at = 0; at < docs.length; at += LEAF_SIZE) {
      this.leaves.push({ docs: docs.slice(at, at + LEAF_SIZE), generation: this.generation });
    }
    this.count += docs.length;
  }

  clear(): void {
    this.leaves = [];
    this.changes++;
    this.count = 0;
    this.indexes.clear();
  }

  /** The index of a field, which somebody has to fill: see {@link EqualityIndex.fill}. */
  index(path: FieldPath): EqualityIndex {
    const key = formatFieldPath(path);
    let index = this.indexes.get(key);
    if (!index) this.indexes.set(key, (index = new EqualityIndex(this, path)));
    return index;
  }

  private ownedLeaf(at: number): Leaf {
    const leaf = this.leaves[at];
    if (leaf?.generation === this.generation) return leaf;
    const owned = { docs: leaf?.docs.slice() ?? [], generation: this.generation };
    this.leaves[at] = owned;
    return owned;
  }

  /** In halves, or by what hangs over where ids arrive in order: then the leaves stay full. */
  private split(at: number, docs: StoredDoc[]): void {
    const tail = docs.splice(at === this.leaves.length - 1 ? LEAF_SIZE : LEAF_SIZE >>> 1);
    this.leaves.splice(at + 1, 0, { docs: tail, generation: this.generation });
  }
}

/**
 * Finds the documents that hold a scalar in one field, without reading the others. It lives in memory only and comes into
 * being after the first query that filters the field by equality.
 */
export class EqualityIndex {
  private readonly buckets = new Map<string, Set<StoredDoc>>();
  private readonly read: (fields: Buffer) => Value | undefined;
  private filling: Promise<void> | undefined;
  private filled = false;

  constructor(
    private readonly collection: Collection,
    path: FieldPath,
  ) {
    this.read = fieldReader(path);
  }

  /** Reads the whole collection once, with `pause` between its leaves; commits go on meanwhile and keep it true. */
  fill(pause: () => Promise<void> | undefined): Promise<void> {
    this.filling ??= this.readAll(pause);
    return this.filling;
  }

  /** Whether it can be asked yet. */
  get ready(): boolean {
    return this.filled;
  }

  /** The documents whose field equals a scalar with this equality key, in no order. */
  get(key: string): ReadonlySet<StoredDoc> {
    return this.buckets.get(key) ?? EMPTY;
  }

  replace(old: StoredDoc | undefined, doc: StoredDoc | undefined): void {
    if (old) {
      const key = this.keyOf(old);
      const bucket = key === undefined ? undefined : this.buckets.get(key);
      bucket?.delete(old);
      if (bucket?.size === 0 && key !== undefined) this.buckets.delete(key);
    }
    if (doc) this.add(doc);
  }

  private async readAll(pause: () => Promise<void> | undefined): Promise<void> {
    const { version } = this.collection;
    for (const docs of this.collection.snapshot().runs()) {
      await pause();
      // A document that has been replaced since the snapshot is in the index already, or rightly not.
      const unchanged = this.collection.version === version;
      for (const doc of docs) if (unchanged || this.collection.get(doc.id) === doc) this.add(doc);
    }
    this.filled = true;
  }

  private add(doc: StoredDoc): void {
    const key = this.keyOf(doc);
    if (key === undefined) return;
    const bucket = this.buckets.get(key);
    if (bucket) bucket.add(doc);
    else this.buckets.set(key, new Set([doc]));
  }

  private keyOf(doc: StoredDoc): string | undefined {
    const value = this.read(doc.fields);
    return value === undefined ? undefined : equalityKey(value);
  }
}

const EMPTY: ReadonlySet<StoredDoc> = new Set();
