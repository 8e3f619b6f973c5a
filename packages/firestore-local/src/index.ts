/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST. This is the public entry point. ../README.md describes the parts.
 */
import { startFirestore as start, type EmbeddedFirestore, type FirestoreOptions } from './embedded';

/**
 * Starts an embedded Firestore.
 *
 * @throws Error with a message for the user: on the port, the data folder or the indexes
 */
export const startFirestore: (options?: FirestoreOptions) => Promise<EmbeddedFirestore> = start;

export type { CommittedChange, EmbeddedFirestore, FirestoreOptions } from './embedded';
export type { IndexDefinitions } from './engine/indexes';
export type { Code } from './protocol/errors';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './protocol/faults';
export type { Filter, Requests, Rpc } from './protocol/requests';
export type { MapValue, Value } from './protocol/values';
