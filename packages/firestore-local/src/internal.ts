/** What this repository uses of the package besides its public door, index.ts. None of it is published. */

/** As the public one, with what sample data needs. */
export { startFirestore, type InternalFirestore, type PlainDocument } from './embedded';
export { Indexes } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
export { RPCS } from './protocol/decode-request';
