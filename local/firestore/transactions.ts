import { randomBytes } from 'node:crypto';
import { LockOwner, transactionEndedError, type Locks } from './locks';
import type { SnapshotView, Store } from './store';

/** An open transaction. */
export interface Transaction {
  readonly id: string;
  readonly database: string;
  /** The connection it was last used by. */
  peer: string;
  readonly owner: LockOwner;
  /** What a read-only transaction reads; undefined for one that may write. */
  readonly view: SnapshotView | undefined;
  readonly startedAt: number;
  /** Requests that are being served; while there are any it is not idle. */
  active: number;
  lastUsedAt: number;
  /** Set when its connection has gone. */
  orphaned: boolean;
  /** Set once its commit is under way; a second one comes too late, as after the end. */
  committing: boolean;
}

/** How long a transaction may last, and how long it may be idle. https://firebase.google.com/docs/firestore/quotas */
export interface TransactionLimits {
  readonly totalMs: number;
  readonly idleMs: number;
}

/** Firestore's own limits. */
export const FIRESTORE_LIMITS: TransactionLimits = { totalMs: 270_000, idleMs: 60_000 };

/**
 * How long a transaction outlives its connection. A client that has died holds up the others no longer than this; one whose
 * pool has merely closed an idle connection comes back by another within milliseconds.
 */
const ORPHAN_MS = 2000;
const SWEEP_MS = 500;

/** How many transactions that have ended are remembered. */
const REMEMBERED = 10_000;

/** The open transactions of a server. */
export class Transactions {
  private readonly open = new Map<string, Transaction>();
  private readonly past = new Map<string, { readonly age: number; readonly committed: boolean }>();
  private readonly prefix = randomBytes(6);
  private readonly sweeper: NodeJS.Timeout;
  private count = 0;

  constructor(
    private readonly locks: Locks,
    private readonly store: Store,
    private readonly limits: TransactionLimits,
  ) {
    this.sweeper = setInterval(() => this.sweep(), Math.min(SWEEP_MS, limits.idleMs / 2));
    this.sweeper.unref();
  }

  /** Starts a transaction. As the retry of another it inherits that one's age, and so its place before younger ones. */
  begin(database: string, peer: string, readOnly: boolean, retryOf: string | undefined): Transaction {
    const number = ++this.count;
    const id = Buffer.alloc(12);
    this.prefix.copy(id);
    id.writeUIntBE(number, 6, 6);
    const age = (retryOf === undefined ? undefined : this.past.get(retryOf)?.age) ?? number;
    const transaction: Transaction = {
      id: id.toString('base64'),
      database,
      peer,
      owner: new LockOwner(age),
      view: readOnly ? this.store.openView() : undefined,
      startedAt: performance.now(),
      active: 0,
      lastUsedAt: performance.now(),
      orphaned: false,
      committing: false,
    };
    this.open.set(transaction.id, transaction);
    return transaction;
  }

  /** The open transaction with an id. One that has ended, or never was, is INVALID_ARGUMENT, as the SDK expects. */
  get(id: string, database: string, peer: string): Transaction {
    const transaction = this.open.get(id);
    if (transaction?.database !== database || transaction.owner.ended || transaction.committing)
      throw transactionEndedError();
    transaction.peer = peer;
    transaction.orphaned = false;
    return transaction;
  }

  /** Ends a transaction and gives up its locks; nothing is applied in it any more. */
  end(transaction: Transaction, how: 'committed' | 'rolled back'): void {
    if (!this.open.delete(transaction.id)) return;
    if (transaction.view) this.store.closeView(transaction.view);
    this.locks.release(transaction.owner);
    this.past.set(transaction.id, { age: transaction.owner.age, committed: how === 'committed' });
    for (const id of this.past.keys()) {
      if (this.past.size <= REMEMBERED) break;
      this.past.delete(id);
    }
  }

  /** Rolls back at a client's request. One that was aborted already is fine; one that was committed or unknown is not. */
  rollBack(id: string, database: string): void {
    const transaction = this.open.get(id);
    if (transaction?.database === database) this.end(transaction, 'rolled back');
    else if (this.past.get(id)?.committed !== false) throw transactionEndedError();
  }

  /** Tells of a connection that has gone: its transactions are rolled back unless they turn up by another soon. */
  disconnected(peer: string): void {
    for (const transaction of this.open.values()) {
      if (transaction.peer !== peer) continue;
      transaction.orphaned = true;
      transaction.lastUsedAt = performance.now();
    }
  }

  /** Rolls back everything that is open. */
  clear(): void {
    for (const transaction of this.open.values()) this.end(transaction, 'rolled back');
  }

  close(): void {
    clearInterval(this.sweeper);
    this.clear();
  }

  private sweep(): void {
    const now = performance.now();
    for (const transaction of this.open.values()) {
      const idleMs = transaction.orphaned ? Math.min(ORPHAN_MS, this.limits.idleMs) : this.limits.idleMs;
      const idle = transaction.active === 0 && now - transaction.lastUsedAt > idleMs;
      if (idle || now - transaction.startedAt > this.limits.totalMs) this.end(transaction, 'rolled back');
    }
  }
}
