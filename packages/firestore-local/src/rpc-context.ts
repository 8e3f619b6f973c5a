import type { LockOwner } from './locks';
import type { Transaction } from './transactions';

/** The context of a call. */
export interface RpcContext {
  /** The connection that the call came by. */
  readonly peer: string;
  /** A transaction that the call began, which ends if the client never learns of it. */
  begun?: Transaction;
  /** The owner of a write outside of any transaction, which is released if the client leaves while it waits. */
  writer?: LockOwner;
}

/** Sends one message of a response; a promise while the client has to catch up. */
export type SendMessage = (message: object) => Promise<void> | undefined;
