/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST.
 *
 *   embedded.ts         starts the server
 *   calls.ts            counts, observes and fails calls on their way
 *   front.ts            the same in front of another Firestore
 *   grpc-server.ts      gRPC and connections
 *   schema.ts           requests and responses as plain data
 *   service.ts          the operations
 *   query.ts            what a query selects, in which order
 *   indexes.ts          which indexes a query needs, how many entries a document has
 *   writes.ts           the result of a write
 *   locks.ts, transactions.ts                     locks, deadlocks, transactions
 *   store.ts, collections.ts, sqlite-storage.ts   documents in memory and on disk
 *   values.ts, codec.ts, paths.ts                 values, their protobuf form, resource names
 *   faults.ts           injected errors, closed connections and hanging calls
 */
export { assertDataFolder } from './data-folder';
export {
  startFirestore,
  type CommittedChange,
  type EmbeddedFirestore,
  type FirestoreOptions,
  type PlainDocument,
} from './embedded';
export type { Code } from './errors';
export { startFirestoreFront, type FirestoreFront } from './front';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './faults';
export type { CallHandler, ResponseStream } from './grpc-server';
export { Indexes, type IndexDefinitions } from './indexes';
export { RPCS, type Filter, type Requests, type Rpc } from './schema';
export { getFieldsSize, getNameSize, type MapValue, type Value } from './values';
