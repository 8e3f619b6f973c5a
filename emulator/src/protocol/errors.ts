import { status } from '@grpc/grpc-js';

/** The name of a gRPC status, such as `NOT_FOUND`. */
export type Code = keyof typeof status;

/** A gRPC status other than OK, as an error. */
export class RpcError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = 'RpcError';
  }

  get status(): status {
    return status[this.code];
  }
}

/** Creates the error for a feature that is not supported. @param subject the feature, such as `Vectors` */
export const unsupported = (subject: string): RpcError =>
  new RpcError('UNIMPLEMENTED', `${subject}: the embedded Firestore does not serve this. ${WAY_OUT}`);

const WAY_OUT = "Google's emulator may serve it: start the emulator, and set FIRESTORE_EMULATOR_HOST to its address.";

/** Creates the error for an invalid request. */
export const invalid = (message: string): RpcError => new RpcError('INVALID_ARGUMENT', message);
