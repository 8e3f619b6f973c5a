import { randomBytes } from 'node:crypto';
import { RpcError, invalid } from '../protocol/errors';
import type { TransactionOptions } from '../protocol/requests';
import type { Store } from '../storage/store';

/** How long a transaction may last. https://firebase.google.com/docs/firestore/quotas */
const MAX_DURATION_MS = 270_000;

/** The number of transactions that the server remembers, ended ones included. The oldest are forgotten first. */
const MAX_KNOWN = 10_000;

/** A transaction. It locks nothing: its commit fails if a read would no longer return what the transaction has read. */
export interface Transaction {
  readonly id: string;
  readonly database: string;
  /** The time at which a read-only transaction reads, in microseconds since 1970. Undefined if the transaction may write. */
  readonly readTime: number | undefined;
  readonly startedAt: number;
  /** For each read, whether it would still return the same. */
  readonly reads: (() => boolean)[];
  hasEnded: boolean;
}

/** The transactions of a server. */
export class Transactions {
  /** By id, oldest first. */
  private readonly known = new Map<string, Transaction>();

  constructor(private readonly store: Store) {}

  begin(database: string, { readOnly, readTime }: TransactionOptions): Transaction {
    if (readTime !== undefined) this.store.assertReadable(readTime);
    const transaction: Transaction = {
      id: randomBytes(12).toString('base64'),
      database,
      readTime: readOnly ? (readTime ?? this.store.readTime()) : undefined,
      startedAt: performance.now(),
      reads: [],
      hasEnded: false,
    };
    this.known.set(transaction.id, transaction);
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_KNOWN && oldest !== undefined) this.known.delete(oldest);
    return transaction;
  }

  /** @throws RpcError INVALID_ARGUMENT, as the SDK expects, if the transaction has ended or never existed */
  get(id: string, database: string): Transaction {
    const transaction = this.known.get(id);
    if (transaction?.database !== database || transaction.hasEnded) throw transactionEndedError();
    if (performance.now() - transaction.startedAt > MAX_DURATION_MS) throw transactionEndedError();
    return transaction;
  }

  /**
   * Ends a transaction for its commit, also if the commit fails.
   * @throws RpcError ABORTED if something that it has read has changed
   */
  endForCommit(transaction: Transaction): void {
    const isCurrent = transaction.reads.every((isUnchanged) => isUnchanged());
    end(transaction);
    if (!isCurrent)
      throw new RpcError('ABORTED', 'A document that the transaction has read has changed. Try it again.');
  }

  /** Rolls back at a client's request. Accepts a transaction that has ended, and refuses an unknown one. */
  rollBack(id: string, database: string): void {
    const transaction = this.known.get(id);
    if (transaction?.database !== database) throw transactionEndedError();
    end(transaction);
  }

  /** Forgets all transactions. */
  clear(): void {
    this.known.clear();
  }
}

function end(transaction: Transaction): void {
  transaction.hasEnded = true;
  transaction.reads.length = 0;
}

/** The SDK recognizes this text, and begins the transaction again. */
const transactionEndedError = (): RpcError => invalid('The referenced transaction has expired or is no longer valid.');
