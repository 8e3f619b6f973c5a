import { Collection, type DocumentChange, type StoredDoc } from './collections';
import { RpcError, invalid } from '../protocol/errors';
import { getCollectionGroup, type DocumentPath } from '../protocol/paths';
import { compareNames } from '../protocol/values';
import type { SqliteStorage } from './sqlite-storage';

/**
 * How long earlier versions can be read, unless they take too much memory, the server restarts or `clear` deletes them:
 * "within the past one hour",
 * https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1#getdocumentrequest
 */
const RETENTION_MICROS = 60 * 60 * 1e6;
/** The upper bound of the memory for earlier versions. The store drops the oldest first. */
const RETENTION_BYTES = 256 * 1024 * 1024;
/** The approximate memory of one change, without the fields of the version that it replaced. */
const CHANGE_BYTES = 100;

/** The changes of one commit. The store drops them together with the versions that they replaced. */
interface RetainedCommit {
  readonly time: number;
  readonly changes: readonly DocumentChange[];
  readonly bytes: number;
}

type CommitListener = (changes: readonly DocumentChange[]) => void;

/**
 * The documents of every database, in memory. All methods are synchronous, so code between two awaits sees one state. Times are
 * microseconds since 1970, but `now` returns milliseconds.
 */
export class Store {
  private readonly collections = new Map<string, Collection>();
  /**
   * The paths of the collections by their group, in the order of names; undefined after a new collection or `clear`, until the next
   * query of a collection group.
   */
  private groups: ReadonlyMap<string, readonly string[]> | undefined;
  /** Oldest first. */
  private readonly retained = new Set<RetainedCommit>();
  private readonly listeners = new Set<CommitListener>();
  private retainedBytes = 0;
  /** The last time that was assigned to a commit with changes, or returned as a read time. `clear` resets it to 0. */
  private lastTime: number;
  /** The earliest time whose versions the store still has. */
  private firstReadTime: number;

  constructor(
    private readonly storage: SqliteStorage | undefined,
    private readonly now: () => number,
  ) {
    for (const doc of storage?.readAll() ?? []) this.set(doc.collection, doc.id, doc);
    this.lastTime = storage?.lastTime ?? 0;
    this.firstReadTime = this.lastTime;
  }

  /** Returns the time of the next commit, which is after `lastTime`. */
  nextTime(): number {
    return Math.max(Math.floor(this.now() * 1000), this.lastTime + 1);
  }

  /** Returns the time of a read of the latest versions, which is not before `lastTime`, but before the next commit. */
  readTime(): number {
    return (this.lastTime = Math.max(Math.floor(this.now() * 1000), this.lastTime));
  }

  /** @throws RpcError if the versions at a time cannot be read */
  assertReadable(readTime: number): void {
    const latest = this.readTime();
    if (readTime > latest) throw invalid("The requested 'read_time' cannot be in the future.");
    this.dropExpired();
    if (readTime < Math.max(this.firstReadTime, latest - RETENTION_MICROS)) {
      throw new RpcError('FAILED_PRECONDITION', 'The requested snapshot version is too old.');
    }
  }

  /** Returns the latest version of a document, or its version at `readTime`. */
  get({ collection, id }: DocumentPath, readTime?: number): StoredDoc | undefined {
    const change = this.changesAfter(readTime, collection).find((each) => each.id === id);
    return change ? change.old : this.collections.get(collection)?.get(id);
  }

  /** Returns the latest documents of a collection, or those at `readTime`, in the order of their ids. */
  snapshot(path: string, readTime?: number): readonly StoredDoc[] {
    const changes = this.changesAfter(readTime, path);
    const collection = this.collections.get(path);
    return (changes.length === 0 ? collection?.snapshot() : collection?.snapshotBefore(changes)) ?? [];
  }

  /** Lists the collections below a resource name. Some can be empty. */
  descendantCollections(parent: string): string[] {
    return [...this.collections.keys()].filter((path) => path.startsWith(`${parent}/`));
  }

  /** Lists the collections of a group below a resource name, in the order of their names. Some can be empty. */
  collectionsOfGroup(parent: string, group: string): string[] {
    this.groups ??= Map.groupBy([...this.collections.keys()].sort(compareNames), getCollectionGroup);
    const prefix = `${parent}/`;
    return (this.groups.get(group) ?? []).filter((path) => path.startsWith(prefix));
  }

  hasDocuments(path: string): boolean {
    return (this.collections.get(path)?.size ?? 0) > 0;
  }

  /** Applies the changes of one commit, on disk and then in memory. */
  apply(changes: readonly DocumentChange[], time: number): void {
    this.storage?.commit(changes, time);
    this.lastTime = time;
    for (const { collection, id, doc } of changes) this.set(collection, id, doc);
    const bytes = changes.reduce((sum, { old }) => sum + CHANGE_BYTES + (old?.fields.length ?? 0), 0);
    this.retained.add({ time, changes, bytes });
    this.retainedBytes += bytes;
    this.dropExpired();
    for (const listener of this.listeners) listener(changes);
  }

  /** Calls a listener with the changes of each commit, once they are applied. Returns a function that removes the listener. */
  observe(listener: CommitListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /**
   * Deletes every document of every database. If the clock has been set back, later commits can have earlier times than the
   * deleted documents.
   */
  clear(): void {
    this.storage?.clear();
    this.collections.clear();
    this.groups = undefined;
    this.retained.clear();
    this.retainedBytes = 0;
    this.lastTime = 0;
    this.firstReadTime = 0;
  }

  close(): void {
    this.storage?.close();
  }

  private set(path: string, id: string, doc: StoredDoc | undefined): void {
    const collection = this.collections.get(path) ?? new Collection();
    if (!this.collections.has(path)) this.groups = undefined;
    this.collections.set(path, collection);
    collection.set(id, doc);
  }

  /** Returns the changes of a collection after a time, oldest first. */
  private changesAfter(readTime: number | undefined, path: string): readonly DocumentChange[] {
    if (readTime === undefined) return [];
    return [...this.retained]
      .filter(({ time }) => time > readTime)
      .flatMap(({ changes }) => changes.filter(({ collection }) => collection === path));
  }

  /** Forgets the versions that were replaced at least {@link RETENTION_MICROS} ago, or that take too much memory. */
  private dropExpired(): void {
    for (const commit of this.retained) {
      if (commit.time > this.lastTime - RETENTION_MICROS && this.retainedBytes <= RETENTION_BYTES) return;
      this.firstReadTime = commit.time;
      this.retained.delete(commit);
      this.retainedBytes -= commit.bytes;
    }
  }
}
