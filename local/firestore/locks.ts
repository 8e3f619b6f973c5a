import { RpcError } from './errors';
import type { Change } from './disk';
import type { PreparedQuery } from './query';

/*
 * Reader and writer locks, as Firestore's server SDKs meet them: a transaction shares what it reads and has what it writes
 * to itself, until it ends. https://firebase.google.com/docs/firestore/transaction-data-contention
 *
 * - A document is locked by its name, existing or not. A query locks its range: a commit waits for the others whose
 *   queries match a document as it was or as it would become, so that no phantom comes up.
 * - Who holds nothing yet waits in line, first come first served. Who holds something passes the line and waits for
 *   holders only; so every circle of waiting is one of holders, and is found when it closes.
 * - Of a circle the youngest is aborted. A transaction that is tried again keeps its first age, so it cannot lose forever.
 * - In a collection that a circle was about, reads lock exclusively too for a while: transactions that read a document
 *   and then write it pass one after another, instead of aborting each other and coming back a second later.
 */

/** Whoever holds locks: a transaction, or one write outside of any. */
export class Owner {
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

interface Wait {
  readonly owner: Owner;
  readonly keys: readonly string[];
  readonly mode: Mode;
  readonly changes: readonly Change[];
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
export const hasEnded = (): RpcError =>
  new RpcError('INVALID_ARGUMENT', 'The referenced transaction has expired or is no longer valid.');

/** The locks of a server. Resource names are full, so databases never meet. */
export class Locks {
  private readonly holders = new Map<string, Map<Owner, Mode>>();
  private readonly rangeHolders = new Set<Owner>();
  private readonly line = new Set<Wait>();
  private readonly contended = new Map<string, number>();

  /** Locks documents for reading. */
  async read(owner: Owner, names: readonly string[]): Promise<void> {
    const contended = names.filter((name) => this.isContended(collectionOf(name)));
    if (contended.length > 0) await this.acquire(owner, contended, 'exclusive');
    await this.acquire(owner, names, 'shared');
  }

  /** Locks documents for writing: all at once, or none until all are free. */
  write(owner: Owner, names: readonly string[]): Promise<void> {
    return this.acquire(owner, names, 'exclusive');
  }

  /** Locks what a query reads: its range, and nothing that is not in it. */
  async readRange(owner: Owner, query: PreparedQuery): Promise<void> {
    const key = rangeKey(query);
    if (this.isContended(key)) await this.acquire(owner, [key], 'exclusive');
    if (owner.ended) throw hasEnded();
    owner.ranges.add(query);
    this.rangeHolders.add(owner);
  }

  /** Whether others hold ranges that the changes would reach into. */
  disturbs(owner: Owner, changes: readonly Change[]): boolean {
    return this.disturbed(owner, changes).length > 0;
  }

  /** Waits until no other holds a range that the changes reach into. */
  async untilUndisturbed(owner: Owner, changes: readonly Change[]): Promise<void> {
    if (this.disturbs(owner, changes)) await this.wait(owner, [], 'shared', changes);
  }

  /** Gives up all that an owner holds and waits for. */
  release(owner: Owner): void {
    owner.ended = true;
    for (const wait of owner.waits) wait.refuse(hasEnded());
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

  private async acquire(owner: Owner, keys: readonly string[], mode: Mode): Promise<void> {
    if (owner.ended) throw hasEnded();
    const free = keys.every((key) => this.holdersAgainst(owner, key, mode).length === 0);
    const inLine = owner.held.size === 0 && [...this.line].some((wait) => wait.keys.some((key) => keys.includes(key)));
    if (free && !inLine) this.take(owner, keys, mode);
    else await this.wait(owner, keys, mode, []);
  }

  private take(owner: Owner, keys: readonly string[], mode: Mode): void {
    for (const key of keys) {
      let holders = this.holders.get(key);
      if (!holders) this.holders.set(key, (holders = new Map<Owner, Mode>()));
      if (holders.get(owner) !== 'exclusive') holders.set(owner, mode);
      owner.held.add(key);
    }
  }

  private holdersAgainst(owner: Owner, key: string, mode: Mode): Owner[] {
    const holders = this.holders.get(key);
    if (!holders) return [];
    const against: Owner[] = [];
    for (const [other, held] of holders) {
      if (other !== owner && (mode === 'exclusive' || held === 'exclusive')) against.push(other);
    }
    return against;
  }

  private disturbed(owner: Owner, changes: readonly Change[]): Owner[] {
    return [...this.rangeHolders].filter(
      (other) => other !== owner && [...other.ranges].some((query) => changes.some((change) => reaches(change, query))),
    );
  }

  private blockers(wait: Wait): Owner[] {
    const holders = wait.keys.flatMap((key) => this.holdersAgainst(wait.owner, key, wait.mode));
    return [...holders, ...this.disturbed(wait.owner, wait.changes)];
  }

  private wait(owner: Owner, keys: readonly string[], mode: Mode, changes: readonly Change[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.line.delete(wait);
        owner.waits.delete(wait);
      };
      const wait: Wait = {
        owner,
        keys,
        mode,
        changes,
        grant: () => {
          end();
          this.take(owner, keys, mode);
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
      this.breakCircles(owner);
    });
  }

  /** Lets those through for whom the way is free, in the order of their coming. */
  private grantWaiting(): void {
    const ahead = new Map<string, Mode>();
    for (const wait of [...this.line]) {
      if (!this.line.has(wait)) continue;
      const holdsNothing = wait.owner.held.size === 0;
      const behind =
        holdsNothing &&
        wait.keys.some((key) => ahead.has(key) && (wait.mode === 'exclusive' || ahead.get(key) === 'exclusive'));
      if (!behind && this.blockers(wait).length === 0) {
        wait.grant();
        continue;
      }
      for (const key of wait.keys) if (ahead.get(key) !== 'exclusive') ahead.set(key, wait.mode);
    }
  }

  /** Aborts the youngest of each circle that an owner's new wait has closed. */
  private breakCircles(owner: Owner): void {
    for (let circle = this.circleFrom(owner); circle; circle = this.circleFrom(owner)) {
      for (const member of circle) this.markContended(member);
      this.abort(circle.reduce((youngest, member) => (member.age > youngest.age ? member : youngest)));
    }
  }

  private circleFrom(start: Owner): Owner[] | undefined {
    const seen = new Set<Owner>();
    const walk = (owner: Owner, path: readonly Owner[]): Owner[] | undefined => {
      for (const wait of owner.waits) {
        for (const blocker of this.blockers(wait)) {
          if (blocker === start) return [...path, owner];
          if (seen.has(blocker)) continue;
          seen.add(blocker);
          const circle = walk(blocker, [...path, owner]);
          if (circle) return circle;
        }
      }
      return undefined;
    };
    return walk(start, []);
  }

  private markContended(owner: Owner): void {
    const until = performance.now() + CONTENDED_MS;
    for (const wait of owner.waits) {
      for (const key of wait.keys) this.contended.set(collectionOf(key), until);
      for (const other of this.disturbed(owner, wait.changes)) {
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

  private abort(owner: Owner): void {
    for (const wait of owner.waits) wait.refuse(tooMuchContention());
    this.release(owner);
  }
}

const collectionOf = (name: string): string => name.slice(0, name.lastIndexOf('/'));

const rangeKey = ({ source }: PreparedQuery): string => `range of ${source.parent}/${source.collectionId ?? '*'}`;

function reaches({ collection, old, doc }: Change, query: PreparedQuery): boolean {
  if (!query.covers(collection)) return false;
  return (old !== undefined && query.matches(old)) || (doc !== undefined && query.matches(doc));
}
