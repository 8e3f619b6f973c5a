/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST. This is its public door; what only this repository uses is in internal.ts.
 *
 *   embedded.ts   starts the server; front.ts puts its faults in front of another Firestore; command.ts is the command
 *   engine/       what an operation finds and changes: queries, writes, transactions, locks, indexes, and what is refused
 *   storage/      the documents, in memory and on disk
 *   protocol/     what is exchanged: values, names, requests and errors, their protobuf form, and the server that carries them
 *
 * The engine knows the storage, both know the protocol, and the protocol knows neither.
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
