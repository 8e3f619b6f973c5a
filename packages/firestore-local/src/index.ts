/**
 * An embedded Firestore for local work and tests: a gRPC server of google.firestore.v1.Firestore. The SDKs reach it through
 * FIRESTORE_EMULATOR_HOST.
 *
 *   embedded.ts         starts the server
 *   grpc-server.ts      gRPC and connections
 *   calls.ts            counts, observes and fails calls on their way
 *   faults.ts           injected errors, closed connections and hanging calls
 *   front.ts            calls and faults in front of another Firestore
 *   requests.ts         the requests as plain data; decode-….ts make it of their bytes
 *   service.ts          the operations: reads.ts, commits.ts, listing.ts, transactions.ts
 *   …-rules.ts          what is refused: queries, aggregations, writes, values
 *   query.ts, aggregations.ts, indexes.ts         what a query selects, in which order, with which index
 *   writes.ts           the result of a write
 *   locks.ts            locks and deadlocks
 *   store.ts, collections.ts, sqlite-storage.ts   documents in memory and on disk
 *   values.ts, codec.ts, paths.ts                 values, their protobuf form, resource names
 */
export { assertDataFolder } from './data-folder';
export {
  startFirestore,
  type CommittedChange,
  type EmbeddedFirestore,
  type FirestoreOptions,
  type PlainDocument,
} from './embedded';
export { RPCS } from './decode-request';
export type { Code } from './errors';
export { clearEmulator, startFirestoreFront, type FirestoreFront } from './front';
export type { Call, EndedCall, Fault, FaultAction, InjectedFault } from './faults';
export type { CallHandler, ResponseStream } from './grpc-server';
export { Indexes, type IndexDefinitions } from './indexes';
export type { Filter, Requests, Rpc } from './requests';
export { getFieldsSize, getNameSize, type MapValue, type Value } from './values';
