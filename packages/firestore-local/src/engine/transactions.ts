import { randomBytes } from 'node:crypto';
import type { CallContext } from '../protocol/calls';
import { invalid } from '../protocol/errors';
import { LockOwner, transactionEndedError, type Locks } from './locks';
import type { TransactionOptions } from '../protocol/requests';
import type { Store } from '../storage/store';

/** An open transaction. */
export interface Transaction {
  readonly id: string;
  readonly database: string;
  /** The connection that last used it. */
  peer: string;
  readonly owner: LockOwner;
  /** The time at which a read-only transaction reads, in microseconds since 1970. Undefined if the transaction may write. */
  readonly readTime: number | undefined;
  readonly startedAt: number;
  /** The number of requests in progress. The transaction is idle only if there are none. */
  active: number;
  lastUsedAt: number;
  /** Set when its connection has closed. */
  orphaned: boolean;
  /** Set when its commit begins. A second commit fails as if the transaction had ended. */
  committing: boolean;
}

/** How long a transaction may last, and be idle, in milliseconds. https://firebase.google.com/docs/firestore/quotas */
export interface TransactionLimits {
  readonly totalMs: number;
  readonly idleMs: number;
}

/** Firestore's own limits. */
export const FIRESTORE_LIMITS: TransactionLimits = { totalMs: 270_000, idleMs: 60_000 };

/**
 * How long a transaction outlives its connection. This limits how long other clients wait for the locks of a client that
 * died. A client that only closed an idle connection returns on another one within milliseconds.
 */
const ORPHAN_MS = 2000;
const SWEEP_MS = 500;

/** The length of a transaction's id. A retry may name an id from before a restart, so only the length is checked. */
const ID_BYTES = 12;

/** The number of ended transactions that the server remembers. */
const MAX_ENDED = 10_000;

/** The open transactions of a server. */
export class Transactions {
  private readonly open = new Map<string, Transaction>();
  /** The ages of transactions that have ended, by id. */
  private readonly ended = new Map<string, number>();
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

  /**
   * Starts a transaction, which ends with its call if the client never learns of it. A retry inherits the age of the first
   * try, and thereby its priority over younger transactions.
   */
  begin(database: string, { readOnly, readTime, retryOf }: TransactionOptions, context: CallContext): Transaction {
    if (readTime !== undefined) this.store.assertReadable(readTime);
    if (retryOf !== undefined && Buffer.from(retryOf, 'base64').length !== ID_BYTES)
      throw invalid('Invalid transaction.');
    this.count++;
    const transaction: Transaction = {
      id: randomBytes(ID_BYTES).toString('base64'),
      database,
      peer: context.peer,
      owner: new LockOwner(this.ended.get(retryOf ?? '') ?? this.count),
      readTime: readOnly ? (readTime ?? this.store.readTime()) : undefined,
      startedAt: performance.now(),
      active: 0,
      lastUsedAt: performance.now(),
      orphaned: false,
      committing: false,
    };
    this.open.set(transaction.id, transaction);
    context.cancel = () => this.end(transaction);
    return transaction;
  }

  /** @throws RpcError INVALID_ARGUMENT, as the SDK expects, if the transaction has ended or never existed */
  get(id: string, database: string, peer: string): Transaction {
    const transaction = this.open.get(id);
    if (transaction?.database !== database || transaction.owner.ended || transaction.committing)
      throw transactionEndedError();
    transaction.peer = peer;
    transaction.orphaned = false;
    return transaction;
  }

  /** Ends a transaction and releases its locks. No later commit applies anything in it. */
  end(transaction: Transaction): void {
    if (!this.open.delete(transaction.id)) return;
    this.locks.release(transaction.owner);
    this.ended.set(transaction.id, transaction.owner.age);
    const [oldest] = this.ended.keys();
    if (this.ended.size > MAX_ENDED && oldest !== undefined) this.ended.delete(oldest);
  }

  /** Rolls back at a client's request. Accepts a transaction that has ended, and refuses an unknown one. */
  rollBack(id: string, database: string): void {
    const transaction = this.open.get(id);
    if (transaction?.database === database) this.end(transaction);
    else if (!this.ended.has(id)) throw transactionEndedError();
  }

  /** Marks the transactions of a closed connection. They are rolled back unless another connection uses them soon. */
  onDisconnect(peer: string): void {
    for (const transaction of this.open.values()) {
      if (transaction.peer !== peer) continue;
      transaction.orphaned = true;
      transaction.lastUsedAt = performance.now();
    }
  }

  /** Rolls back all open transactions. */
  clear(): void {
    for (const transaction of this.open.values()) this.end(transaction);
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
      if (idle || now - transaction.startedAt > this.limits.totalMs) this.end(transaction);
    }
  }
}
