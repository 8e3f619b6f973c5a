import { RpcError } from '../protocol/errors';
import type { DocumentChange } from '../storage/collections';
import type { PreparedQuery } from './query';

/*
 * Reader and writer locks. Until it ends, a transaction holds shared locks on what it reads and exclusive locks on what it writes.
 * https://firebase.google.com/docs/firestore/transaction-data-contention
 *
 * - A document is locked by its name, whether it exists or not. A query locks its range. A commit waits for other owners
 *   whose queries match a document before or after the change, so no phantom appears.
 * - An owner without locks waits in a first-come queue. An owner with locks passes the queue and waits only for other
 *   owners. Therefore every cycle consists of owners with locks, and is found when it closes.
 * - The youngest owner of a cycle is aborted. A retried transaction keeps its first age, so it cannot lose forever.
 * - In a collection where a cycle occurred, reads lock exclusively for a while. Transactions that read a document and then
 *   write it then run one after another.
 */

/** The owner of locks: a transaction, or a single write outside of any. */
export class LockOwner {
  /** Names of locked documents. */
  readonly held = new Set<string>();
  /** Queries whose ranges are locked. */
  readonly ranges = new Set<PreparedQuery>();
  readonly waits = new Set<Wait>();
  /** Set when its locks are released. It then gets no others. */
  ended = false;

  /** @param age orders owners by their start. The owner with the greatest age is aborted first. */
  constructor(readonly age: number) {}
}

type LockMode = 'shared' | 'exclusive';

/** A request for documents, for a query's range, or for changes without conflicting ranges. */
interface LockRequest {
  readonly keys: readonly string[];
  readonly mode: LockMode;
  readonly range?: PreparedQuery;
  readonly changes?: readonly DocumentChange[];
}

interface Wait {
  readonly owner: LockOwner;
  readonly request: LockRequest;
  readonly grant: () => void;
  readonly reject: (error: RpcError) => void;
}

/** The longest wait for a lock. */
const WAIT_MS = 20_000;
/** How long reads lock exclusively after a cycle. */
const CONTENDED_MS = 10_000;

/** Firestore's error for a transaction that has ended. The SDK then starts over. */
export const transactionEndedError = (): RpcError =>
  new RpcError('INVALID_ARGUMENT', 'The referenced transaction has expired or is no longer valid.');

/** The locks of a server. Full resource names keep databases apart. */
export class Locks {
  private readonly holders = new Map<string, Map<LockOwner, LockMode>>();
  private readonly rangeHolders = new Set<LockOwner>();
  private readonly waiting = new Set<Wait>();
  private readonly contended = new Map<string, number>();

  /** Locks documents for reading. */
  async read(owner: LockOwner, names: readonly string[]): Promise<void> {
    const contended = names.filter((name) => this.isContended(getCollectionName(name)));
    if (contended.length > 0) await this.acquire(owner, { keys: contended, mode: 'exclusive' });
    await this.acquire(owner, { keys: names, mode: 'shared' });
  }

  /** Locks documents for writing, all at once. */
  write(owner: LockOwner, names: readonly string[]): Promise<void> {
    return this.acquire(owner, { keys: names, mode: 'exclusive' });
  }

  /** Locks the range of a query. */
  async readRange(owner: LockOwner, query: PreparedQuery): Promise<void> {
    const key = toRangeKey(query);
    await this.acquire(owner, { keys: this.isContended(key) ? [key] : [], mode: 'exclusive', range: query });
  }

  /** Whether the changes conflict with ranges of other owners. */
  conflictsWithRanges(owner: LockOwner, changes: readonly DocumentChange[]): boolean {
    return this.getRangeConflicts(owner, changes).length > 0;
  }

  /** Waits until the changes conflict with no range of another owner. */
  awaitRanges(owner: LockOwner, changes: readonly DocumentChange[]): Promise<void> {
    return this.acquire(owner, { keys: [], mode: 'shared', changes });
  }

  /** Releases all locks of an owner and ends its waits. */
  release(owner: LockOwner): void {
    owner.ended = true;
    for (const wait of owner.waits) wait.reject(transactionEndedError());
    for (const key of owner.held) {
      const holders = this.holders.get(key);
      holders?.delete(owner);
      if (holders?.size === 0) this.holders.delete(key);
    }
    owner.held.clear();
    owner.ranges.clear();
    this.rangeHolders.delete(owner);
    this.grantWaiting();
  }

  private async acquire(owner: LockOwner, request: LockRequest): Promise<void> {
    if (owner.ended) throw transactionEndedError();
    const queue = new WaitQueue();
    for (const wait of this.waiting) queue.add(wait.request);
    const mustQueue = hasNoLocks(owner) && queue.blocks(request);
    if (!mustQueue && this.getBlockers(owner, request).length === 0) this.grant(owner, request);
    else await this.wait(owner, request);
  }

  private grant(owner: LockOwner, { keys, mode, range }: LockRequest): void {
    for (const key of keys) {
      let holders = this.holders.get(key);
      if (!holders) this.holders.set(key, (holders = new Map<LockOwner, LockMode>()));
      if (holders.get(owner) !== 'exclusive') holders.set(owner, mode);
      owner.held.add(key);
    }
    if (!range) return;
    owner.ranges.add(range);
    this.rangeHolders.add(owner);
  }

  /** The owners that block a request. */
  private getBlockers(owner: LockOwner, { keys, mode, changes = [] }: LockRequest): LockOwner[] {
    const blockers: LockOwner[] = [];
    for (const key of keys) {
      for (const [other, held] of this.holders.get(key) ?? []) {
        if (other !== owner && (mode === 'exclusive' || held === 'exclusive')) blockers.push(other);
      }
    }
    return blockers.concat(this.getRangeConflicts(owner, changes));
  }

  private getRangeConflicts(owner: LockOwner, changes: readonly DocumentChange[]): LockOwner[] {
    return [...this.rangeHolders].filter(
      (other) => other !== owner && [...other.ranges].some((query) => affectsRange(changes, query)),
    );
  }

  private wait(owner: LockOwner, request: LockRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wait);
        owner.waits.delete(wait);
      };
      const wait: Wait = {
        owner,
        request,
        grant: () => {
          end();
          this.grant(owner, request);
          resolve();
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      const timer = setTimeout(() => this.abort(owner), WAIT_MS);
      this.waiting.add(wait);
      owner.waits.add(wait);
      this.breakCycles(owner);
    });
  }

  /** Grants all requests that are no longer blocked, in the order of arrival. */
  private grantWaiting(): void {
    const ahead = new WaitQueue();
    for (const wait of [...this.waiting]) {
      const mustQueue = hasNoLocks(wait.owner) && ahead.blocks(wait.request);
      if (!mustQueue && this.getBlockers(wait.owner, wait.request).length === 0) wait.grant();
      else ahead.add(wait.request);
    }
  }

  /** Aborts the youngest owner of each cycle that an owner's new wait has closed. */
  private breakCycles(owner: LockOwner): void {
    for (let cycle = this.findCycle(owner); cycle; cycle = this.findCycle(owner)) {
      for (const member of cycle) this.markContended(member);
      this.abort(cycle.reduce((youngest, member) => (member.age > youngest.age ? member : youngest)));
    }
  }

  private findCycle(start: LockOwner): LockOwner[] | undefined {
    const seen = new Set<LockOwner>();
    const walk = (owner: LockOwner, path: readonly LockOwner[]): LockOwner[] | undefined => {
      for (const wait of owner.waits) {
        for (const blocker of this.getBlockers(owner, wait.request)) {
          if (blocker === start) return [...path, owner];
          if (seen.has(blocker)) continue;
          seen.add(blocker);
          const cycle = walk(blocker, [...path, owner]);
          if (cycle) return cycle;
        }
      }
      return undefined;
    };
    return walk(start, []);
  }

  private markContended(owner: LockOwner): void {
    const until = performance.now() + CONTENDED_MS;
    for (const wait of owner.waits) {
      for (const key of wait.request.keys) this.contended.set(getCollectionName(key), until);
      for (const other of this.getRangeConflicts(owner, wait.request.changes ?? [])) {
        for (const query of other.ranges) this.contended.set(toRangeKey(query), until);
      }
    }
  }

  private isContended(key: string): boolean {
    const until = this.contended.get(key);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.contended.delete(key);
    return false;
  }

  private abort(owner: LockOwner): void {
    const error = new RpcError('ABORTED', 'Too much contention on these documents. Please try again.');
    for (const wait of owner.waits) wait.reject(error);
    this.release(owner);
  }
}

const getCollectionName = (name: string): string => name.slice(0, name.lastIndexOf('/'));

const toRangeKey = ({ source }: PreparedQuery): string => `range of ${source.parent}/${source.collectionId ?? '*'}`;

/** Whether a change moves a document into a query's range, out of it, or changes it there. */
function affectsRange(changes: readonly DocumentChange[], query: PreparedQuery): boolean {
  return changes.some(
    ({ collection, old, doc }) =>
      query.covers(collection) &&
      ((old !== undefined && query.matches(old)) || (doc !== undefined && query.matches(doc))),
  );
}

const hasNoLocks = (owner: LockOwner): boolean => owner.held.size === 0 && owner.ranges.size === 0;

/** The waiting requests that a later one must not pass. */
class WaitQueue {
  private readonly keys = new Map<string, LockMode>();
  private readonly changes: DocumentChange[] = [];

  add({ keys, mode, changes = [] }: LockRequest): void {
    for (const key of keys) if (this.keys.get(key) !== 'exclusive') this.keys.set(key, mode);
    this.changes.push(...changes);
  }

  blocks({ keys, mode, range }: LockRequest): boolean {
    const isQueued = (key: string): boolean =>
      this.keys.has(key) && (mode === 'exclusive' || this.keys.get(key) === 'exclusive');
    return keys.some(isQueued) || (range !== undefined && affectsRange(this.changes, range));
  }
}
