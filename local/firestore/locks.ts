import { RpcError } from './errors';
import type { DocumentChange } from './sqlite-storage';
import type { PreparedQuery } from './query';

/*
 * Reader and writer locks, as Firestore's server SDKs meet them: a transaction shares what it reads and has what it writes
 * to itself, until it ends. https://firebase.google.com/docs/firestore/transaction-data-contention
 *
 * - A document is locked by its name, existing or not. A query locks its range: a commit waits for the others whose
 *   queries match a document as it was or as it would become, so that no phantom comes up.
 * - Who holds nothing yet waits in line, first come first served. Who holds something passes the line and waits for
 *   holders only; so every cycle of waiting is one of holders, and is found when it closes.
 * - Of a cycle the youngest is aborted. A transaction that is tried again keeps its first age, so it cannot lose forever.
 * - In a collection that a cycle was about, reads lock exclusively too for a while: transactions that read a document
 *   and then write it pass one after another, instead of aborting each other and coming back a second later.
 */

/** Whoever holds locks: a transaction, or one write outside of any. */
export class LockOwner {
  /** Documents held. */
  readonly held = new Set<string>();
  /** Queries whose ranges are held. */
  readonly ranges = new Set<PreparedQuery>();
  readonly waits = new Set<Wait>();
  /** Set once its locks are given up; it gets no others. */
  ended = false;

  /** `age` orders owners by their start; the one with the greatest loses first. */
  constructor(readonly age: number) {}
}

type Mode = 'shared' | 'exclusive';

/** What an owner asks for: documents, a query's range, or that nobody's range is in the way of its changes. */
interface LockRequest {
  readonly keys: readonly string[];
  readonly mode: Mode;
  readonly range?: PreparedQuery;
  readonly changes?: readonly DocumentChange[];
}

interface Wait {
  readonly owner: LockOwner;
  readonly claim: LockRequest;
  readonly grant: () => void;
  readonly refuse: (error: RpcError) => void;
}

/** How long a wait lasts before it is given up. */
const WAIT_MS = 20_000;
/** How long reads in something contended lock exclusively. */
const CONTENDED_MS = 10_000;

const tooMuchContention = (): RpcError =>
  new RpcError('ABORTED', 'Too much contention on these documents. Please try again.');

/** What Firestore answers for a transaction that is over, however it ended; the SDK knows to start over. */
export const transactionEndedError = (): RpcError =>
  new RpcError('INVALID_ARGUMENT', 'The referenced transaction has expired or is no longer valid.');

/** The locks of a server. Resource names are full, so databases never meet. */
export class Locks {
  private readonly holders = new Map<string, Map<LockOwner, Mode>>();
  private readonly rangeHolders = new Set<LockOwner>();
  private readonly line = new Set<Wait>();
  private readonly contended = new Map<string, number>();

  /** Locks documents for reading. */
  async read(owner: LockOwner, names: readonly string[]): Promise<void> {
    const contended = names.filter((name) => this.isContended(collectionOf(name)));
    if (contended.length > 0) await this.claim(owner, { keys: contended, mode: 'exclusive' });
    await this.claim(owner, { keys: names, mode: 'shared' });
  }

  /** Locks documents for writing: all at once, or none until all are free. */
  write(owner: LockOwner, names: readonly string[]): Promise<void> {
    return this.claim(owner, { keys: names, mode: 'exclusive' });
  }

  /** Locks what a query reads: its range, and nothing that is not in it. */
  async readRange(owner: LockOwner, query: PreparedQuery): Promise<void> {
    const key = rangeKey(query);
    await this.claim(owner, { keys: this.isContended(key) ? [key] : [], mode: 'exclusive', range: query });
  }

  /** Whether others hold ranges that the changes would reach into. */
  conflictsWithRanges(owner: LockOwner, changes: readonly DocumentChange[]): boolean {
    return this.disturbed(owner, changes).length > 0;
  }

  /** Waits until no other holds a range that the changes reach into. */
  untilUndisturbed(owner: LockOwner, changes: readonly DocumentChange[]): Promise<void> {
    return this.claim(owner, { keys: [], mode: 'shared', changes });
  }

  /** Gives up all that an owner holds and waits for, for good. */
  release(owner: LockOwner): void {
    owner.ended = true;
    for (const wait of owner.waits) wait.refuse(transactionEndedError());
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

  private async claim(owner: LockOwner, claim: LockRequest): Promise<void> {
    if (owner.ended) throw transactionEndedError();
    const inLine = holdsNothing(owner) && this.waiting().blocks(claim);
    if (!inLine && this.blockers(owner, claim).length === 0) this.take(owner, claim);
    else await this.wait(owner, claim);
  }

  private waiting(): WaitQueue {
    const line = new WaitQueue();
    for (const { claim } of this.line) line.add(claim);
    return line;
  }

  private take(owner: LockOwner, { keys, mode, range }: LockRequest): void {
    for (const key of keys) {
      let holders = this.holders.get(key);
      if (!holders) this.holders.set(key, (holders = new Map<LockOwner, Mode>()));
      if (holders.get(owner) !== 'exclusive') holders.set(owner, mode);
      owner.held.add(key);
    }
    if (!range) return;
    owner.ranges.add(range);
    this.rangeHolders.add(owner);
  }

  /** The holders that stand in the way of a claim. */
  private blockers(owner: LockOwner, { keys, mode, changes = [] }: LockRequest): LockOwner[] {
    const against: LockOwner[] = [];
    for (const key of keys) {
      for (const [other, held] of this.holders.get(key) ?? []) {
        if (other !== owner && (mode === 'exclusive' || held === 'exclusive')) against.push(other);
      }
    }
    return against.concat(this.disturbed(owner, changes));
  }

  private disturbed(owner: LockOwner, changes: readonly DocumentChange[]): LockOwner[] {
    return [...this.rangeHolders].filter(
      (other) => other !== owner && [...other.ranges].some((query) => reach(changes, query)),
    );
  }

  private wait(owner: LockOwner, claim: LockRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.line.delete(wait);
        owner.waits.delete(wait);
      };
      const wait: Wait = {
        owner,
        claim,
        grant: () => {
          end();
          this.take(owner, claim);
          resolve();
        },
        refuse: (error) => {
          end();
          reject(error);
        },
      };
      const timer = setTimeout(() => this.abort(owner), WAIT_MS);
      this.line.add(wait);
      owner.waits.add(wait);
      this.breakCycles(owner);
    });
  }

  /** Lets those through for whom the way is free, in the order of their coming. */
  private grantWaiting(): void {
    const ahead = new WaitQueue();
    for (const wait of [...this.line]) {
      const behind = holdsNothing(wait.owner) && ahead.blocks(wait.claim);
      if (!behind && this.blockers(wait.owner, wait.claim).length === 0) wait.grant();
      else ahead.add(wait.claim);
    }
  }

  /** Aborts the youngest of each cycle that an owner's new wait has closed. */
  private breakCycles(owner: LockOwner): void {
    for (let cycle = this.cycleFrom(owner); cycle; cycle = this.cycleFrom(owner)) {
      for (const member of cycle) this.markContended(member);
      this.abort(cycle.reduce((youngest, member) => (member.age > youngest.age ? member : youngest)));
    }
  }

  private cycleFrom(start: LockOwner): LockOwner[] | undefined {
    const seen = new Set<LockOwner>();
    const walk = (owner: LockOwner, path: readonly LockOwner[]): LockOwner[] | undefined => {
      for (const wait of owner.waits) {
        for (const blocker of this.blockers(owner, wait.claim)) {
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
      for (const key of wait.claim.keys) this.contended.set(collectionOf(key), until);
      for (const other of this.disturbed(owner, wait.claim.changes ?? [])) {
        for (const query of other.ranges) this.contended.set(rangeKey(query), until);
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
    for (const wait of owner.waits) wait.refuse(tooMuchContention());
    this.release(owner);
  }
}

const collectionOf = (name: string): string => name.slice(0, name.lastIndexOf('/'));

const rangeKey = ({ source }: PreparedQuery): string => `range of ${source.parent}/${source.collectionId ?? '*'}`;

/** Whether one of the changes takes a document into a query's range, out of it, or changes it there. */
function reach(changes: readonly DocumentChange[], query: PreparedQuery): boolean {
  return changes.some(
    ({ collection, old, doc }) =>
      query.covers(collection) &&
      ((old !== undefined && query.matches(old)) || (doc !== undefined && query.matches(doc))),
  );
}

const holdsNothing = (owner: LockOwner): boolean => owner.held.size === 0 && owner.ranges.size === 0;

/** The claims of those who wait, as far as a later one has to stand behind them. */
class WaitQueue {
  private readonly keys = new Map<string, Mode>();
  private readonly changes: DocumentChange[] = [];

  add({ keys, mode, changes = [] }: LockRequest): void {
    for (const key of keys) if (this.keys.get(key) !== 'exclusive') this.keys.set(key, mode);
    this.changes.push(...changes);
  }

  blocks({ keys, mode, range }: LockRequest): boolean {
    const behind = (key: string): boolean =>
      this.keys.has(key) && (mode === 'exclusive' || this.keys.get(key) === 'exclusive');
    return keys.some(behind) || (range !== undefined && reach(this.changes, range));
  }
}
