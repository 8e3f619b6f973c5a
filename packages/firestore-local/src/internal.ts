/** What this repository uses of the package besides its public door, index.ts. None of it is published. */

/** As the public one, with what clients in the same process and sample data need. */
export { startFirestore, type InternalFirestore, type PlainDocument } from './embedded';
export { Indexes } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
export { RPCS } from './protocol/decode-request';
export type { CallHandler, ResponseStream } from './protocol/grpc-server';
