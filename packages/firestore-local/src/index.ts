/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST. ../README.md describes the parts.
 */
export { startFirestore } from './embedded';
export type { CommittedChange, EmbeddedFirestore, FirestoreOptions, PlainDocument } from './embedded';
export { Indexes, type IndexDefinitions } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
/** A function of a fault throws it, as the response to its call. */
export { RpcError, type Code } from './protocol/errors';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './protocol/faults';
export type { Filter, Requests, Rpc } from './protocol/requests';
export type { MapValue, Value } from './protocol/values';
