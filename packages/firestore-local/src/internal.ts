/** The parts of the package that only this repository uses, besides the public entry point index.ts. None are published. */

/** The public function, with what the sample data needs. */
export { startFirestore, type InternalFirestore, type PlainDocument } from './embedded';
export { Indexes } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
export { RPCS } from './protocol/decode-request';
/** An injected function throws it, as the response to its call. */
export { RpcError } from './protocol/errors';
