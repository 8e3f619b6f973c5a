import { readFileSync } from 'node:fs';
import type { Firestore, Query, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import {
  clearEmulator,
  startFirestore,
  startFirestoreFront,
  type EndedCall,
  type FirestoreFront,
  type IndexDefinitions,
} from '../../emulator/src';
import { subcollections } from '../../functions/src/lib/firestore/collections';

export const readDeclaredIndexes = () => JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;

/** The `host:port` of another Firestore for the tests, such as Google's emulator (docs/testing.md). */
const { TEST_FIRESTORE } = process.env;

/** Records the calls to a Firestore that end from now on. */
export function recordCalls({ observe }: Pick<FirestoreFront, 'observe'>): EndedCall[] {
  const calls: EndedCall[] = [];
  observe((call) => calls.push(call));
  return calls;
}

/** The project of the tests. With TEST_FIRESTORE, which all processes share, each process has its own project. */
export const TEST_PROJECT = TEST_FIRESTORE ? `demo-price-lists-${process.pid}` : 'demo-price-lists';

/**
 * Starts an embedded Firestore, or a fault-injecting proxy in front of the Firestore that TEST_FIRESTORE names. The
 * project is empty.
 */
export async function startTestFirestore(project = TEST_PROJECT): Promise<FirestoreFront> {
  if (!TEST_FIRESTORE) return startFirestore({ indexes: readDeclaredIndexes() });
  await clearEmulator(TEST_FIRESTORE, `projects/${project}/databases/(default)`);
  return startFirestoreFront(TEST_FIRESTORE);
}

/** Makes the service and Google's libraries in this process use a Firestore that needs no credentials. */
export function useFirestoreEmulator(address: string, project: string): void {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  process.env['GCLOUD_PROJECT'] = project;
  // Without this variable, Google's libraries look for a metadata server on the network.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}

/** Reads all documents of a database: those of every top-level collection, and those below requests and lists. */
export async function readAllDocuments(db: Firestore): Promise<QueryDocumentSnapshot[]> {
  const below = Object.values(subcollections).map((id) => db.collectionGroup(id));
  const queries: Query[] = [...(await db.listCollections()), ...below];
  const found = await Promise.all(queries.map((query) => query.get()));
  return found.flatMap(({ docs }) => docs);
}
