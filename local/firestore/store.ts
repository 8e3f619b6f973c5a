import { Collection, EMPTY_SNAPSHOT, type StoredDoc, type Snapshot } from './collections';
import type { DocumentChange, SqliteStorage } from './sqlite-storage';
import { sortInSlices, timeSlices } from './slices';
import { compareStrings } from './values';
import { getCollectionGroup, type DocumentPath } from './paths';

/** How many documents are read from disk before others are due a turn. */
const PAGE = 1000;

/** All collections at one moment: what a read-only transaction reads. */
export class SnapshotView {
  private readonly saved = new Map<string, Snapshot>();

  /** Keeps a collection as it is, before a commit changes it; a later change finds it kept already. */
  keep(collection: Collection): void {
    if (!this.saved.has(collection.path)) this.saved.set(collection.path, collection.snapshot());
  }

  get(path: string): Snapshot | undefined {
    return this.saved.get(path);
  }
}

/**
 * The documents of every database: in memory, read from disk one collection at a time as they are first needed. Only
 * {@link Store.load} waits; everything else happens at once, so that what runs between two awaits sees one state.
 */
export class Store {
  private readonly collections = new Map<string, Collection>();
  private readonly unloaded = new Set<string>();
  private readonly loading = new Map<string, Promise<void>>();
  private readonly views = new Set<SnapshotView>();
  private lastTime = 0;

  constructor(
    private readonly disk: SqliteStorage | undefined,
    private readonly now: () => number,
  ) {
    for (const path of disk?.collections ?? []) this.unloaded.add(path);
    this.lastTime = disk?.lastTime ?? 0;
  }

  /** The time of a commit: now, but later than any commit before it. Microseconds since 1970. */
  nextTime(): number {
    return Math.max(Math.floor(this.now() * 1000), this.lastTime + 1);
  }

  /** The time of a read: not before the last commit. */
  readTime(): number {
    return Math.max(Math.floor(this.now() * 1000), this.lastTime);
  }

  /** Brings collections into memory. A large one comes in pages, and others are served in between. */
  async load(paths: Iterable<string>): Promise<void> {
    for (const path of paths) {
      if (!this.unloaded.has(path)) continue;
      let loading = this.loading.get(path);
      if (!loading) this.loading.set(path, (loading = this.read(path)));
      await loading;
    }
  }

  /** The document at a place. Its collection must have been loaded. */
  get({ collection, id }: DocumentPath, view?: SnapshotView): StoredDoc | undefined {
    const past = view?.get(collection);
    return past ? past.get(id) : this.collections.get(collection)?.get(id);
  }

  /** A loaded collection as it is now. */
  collection(path: string): Collection | undefined {
    return this.collections.get(path);
  }

  /** The documents of a loaded collection, now or in a view of the past. */
  snapshot(path: string, view?: SnapshotView): Snapshot {
    return view?.get(path) ?? this.collections.get(path)?.snapshot() ?? EMPTY_SNAPSHOT;
  }

  /** The collections that hold documents somewhere below a resource name; of one collection group, if it is given. */
  descendantCollections(parent: string, group?: string): string[] {
    const prefix = `${parent}/`;
    const matches = (path: string): boolean =>
      path.startsWith(prefix) && (group === undefined || getCollectionGroup(path) === group);
    return [...this.collections.keys(), ...this.unloaded].filter(matches);
  }

  /** Whether a collection holds a document; it need not be loaded. */
  hasDocuments(path: string): boolean {
    if (this.unloaded.has(path)) return this.disk?.hasDocuments(path) ?? false;
    return (this.collections.get(path)?.size ?? 0) > 0;
  }

  /** Applies the changes of one commit, on disk and then in memory. Their collections must have been loaded. */
  apply(changes: readonly DocumentChange[], time: number): void {
    this.disk?.commit(changes, time);
    this.lastTime = time;
    for (const { collection: path, id, doc } of changes) {
      let collection = this.collections.get(path);
      if (!collection) this.collections.set(path, (collection = new Collection(path)));
      for (const view of this.views) view.keep(collection);
      collection.set(id, doc);
    }
  }

  /** A view that stays as everything is now, until it is closed. */
  openView(): SnapshotView {
    const view = new SnapshotView();
    this.views.add(view);
    return view;
  }

  closeView(view: SnapshotView): void {
    this.views.delete(view);
  }

  /** Drops every document of every database. */
  clear(): void {
    this.disk?.clear();
    this.unloaded.clear();
    this.loading.clear();
    for (const collection of this.collections.values()) collection.clear();
  }

  close(): void {
    this.disk?.close();
  }

  private async read(path: string): Promise<void> {
    const pause = timeSlices();
    const docs: StoredDoc[] = [];
    for (let more = true; more;) {
      const page = this.disk?.page(path, docs.at(-1)?.row ?? 0, PAGE) ?? [];
      for (const doc of page) docs.push(doc);
      more = page.length === PAGE;
      await pause();
    }
    const collection = new Collection(path);
    collection.append(await sortInSlices(docs, (a, b) => compareStrings(a.id, b.id), pause));
    // The server was cleared meanwhile: what was read does not exist any more.
    if (!this.unloaded.has(path)) return;
    this.collections.set(path, collection);
    this.unloaded.delete(path);
    this.loading.delete(path);
  }
}
