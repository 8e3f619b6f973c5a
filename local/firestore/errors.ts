import { status } from '@grpc/grpc-js';

/** The name of a gRPC status, as Firestore's documentation writes it: `NOT_FOUND`, `ABORTED`… */
export type Code = keyof typeof status;

/** An answer other than OK: what a handler throws and the wire turns into a gRPC status. */
export class RpcError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = 'RpcError';
  }

  /** The number of the code on the wire. */
  get status(): status {
    return status[this.code];
  }
}

/** The request itself is wrong, whatever the state of the database. */
export const invalid = (message: string): RpcError => new RpcError('INVALID_ARGUMENT', message);
