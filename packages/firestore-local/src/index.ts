/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST. ../README.md lists what it serves.
 */
export { startFirestore } from './embedded';
export type { CommittedChange, EmbeddedFirestore, FirestoreOptions, PlainDocument } from './embedded';
export { Indexes, type IndexDefinitions } from './engine/indexes';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
/** The function of a fault can throw this error, which becomes the response to the call. */
export { RpcError, type Code } from './protocol/errors';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './protocol/faults';
export type { Filter, Requests, Rpc } from './protocol/requests';
export type { MapValue, Value } from './protocol/values';
