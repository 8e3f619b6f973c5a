/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. Server SDKs reach it
 * through FIRESTORE_EMULATOR_HOST. ../README.md lists what it serves.
 */
export { startFirestore } from './embedded';
export type { CommittedChange, EmbeddedFirestore, FirestoreOptions, PlainDocument } from './embedded';
export { Indexes, type IndexDefinitions } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
export type { Code } from './protocol/errors';
export type { Call, EndedCall, FaultAction, InjectedFault } from './protocol/faults';
export type { Requests, Rpc } from './protocol/requests';
export type { MapValue, Value } from './protocol/values';
