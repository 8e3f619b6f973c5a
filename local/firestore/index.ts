/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore that the real SDKs reach
 * through FIRESTORE_EMULATOR_HOST.
 *
 *   embedded.ts      starts everything, and leads a call through it
 *   grpc-server.ts          gRPC and connections
 *   schema.ts        the protocol's messages as plain data
 *   service.ts       the operations
 *   query.ts         what a query selects, and in which order
 *   indexes.ts       which indexes a query needs, and how many entries a document makes
 *   writes.ts        what a write makes of a document
 *   locks.ts, transactions.ts    who waits for whom, and who gives way
 *   store.ts, collections.ts, sqlite-storage.ts    the documents, in memory and on disk
 *   values.ts, codec.ts, paths.ts    Firestore's values, their bytes, and its names
 *   faults.ts        errors, lost connections and silence, for tests
 */
export { startFirestore, type EmbeddedFirestore, type FirestoreOptions } from './embedded';
export type { Code } from './errors';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './faults';
export type { IndexDefinitions } from './indexes';
export type { Requests, Rpc } from './schema';
export type { Value } from './values';
