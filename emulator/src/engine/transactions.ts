import { randomBytes } from 'node:crypto';
import { RpcError, invalid } from '../protocol/errors';

/** The maximum number of open transactions. A further transaction ends the oldest. */
const MAX_OPEN = 10_000;

/** A transaction. It locks nothing: its commit fails if a read would no longer return what the transaction has read. */
export interface Transaction {
  readonly id: string;
  readonly database: string;
  /** One check for each read. It returns whether the read would still find the same versions of documents. */
  readonly reads: (() => boolean)[];
}

/** The open transactions of a server. */
export class Transactions {
  /** By id, oldest first. */
  private readonly open = new Map<string, Transaction>();

  begin(database: string): Transaction {
    const transaction: Transaction = { id: randomBytes(12).toString('base64'), database, reads: [] };
    this.open.set(transaction.id, transaction);
    const [oldest] = this.open.keys();
    if (this.open.size > MAX_OPEN && oldest !== undefined) this.open.delete(oldest);
    return transaction;
  }

  /** @throws RpcError INVALID_ARGUMENT if the database has no open transaction with this id */
  get(id: string, database: string): Transaction {
    const transaction = this.open.get(id);
    // The SDK recognises this text and begins the transaction again.
    if (transaction?.database !== database)
      throw invalid('The referenced transaction has expired or is no longer valid.');
    return transaction;
  }

  /**
   * Ends a transaction for its commit, even if the commit then fails.
   * @throws RpcError ABORTED if something that the transaction has read has changed
   */
  endForCommit({ id, reads }: Transaction): void {
    this.open.delete(id);
    if (reads.every((isUnchanged) => isUnchanged())) return;
    throw new RpcError('ABORTED', 'Data that the transaction has read has changed. Repeat the transaction.');
  }

  /** Ends a transaction without a commit. Does nothing if it has ended already. */
  rollBack(id: string): void {
    this.open.delete(id);
  }

  clear(): void {
    this.open.clear();
  }
}
