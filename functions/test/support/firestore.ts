import type { Firestore, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import {
  startFirestore,
  type EmbeddedFirestore,
  type EndedCall,
  type IndexDefinitions,
} from '../../../packages/firestore-local/src';
import {
  clearEmulator,
  startFirestoreFront,
  type FirestoreFront,
} from '../../../packages/firestore-local/src/internal';
import { queryAllDocuments } from './sdk-internals';

/** Another Firestore for the tests, such as Google's emulator, as `host:port`: docs/testing.md. */
export const { TEST_FIRESTORE } = process.env;

/** Records the calls that reach a Firestore, as each of them ends, for one test after another. */
export function createCallRecorder({ observe }: Pick<FirestoreFront, 'observe'>) {
  const stops = new Set<() => void>();
  return {
    /** The calls from now until the next `stop`. */
    record: (): EndedCall[] => {
      const calls: EndedCall[] = [];
      stops.add(observe((call) => calls.push(call)));
      return calls;
    },
    stop: (): void => {
      for (const stop of stops) stop();
      stops.clear();
    },
  };
}

/** The project of the tests. Over another Firestore, each process has its own: they share what it stores. */
export const TEST_PROJECT = TEST_FIRESTORE ? `demo-price-lists-${process.pid}` : 'demo-price-lists';

/**
 * Starts an embedded Firestore, or what injects faults in front of the one that TEST_FIRESTORE
 * names, without the documents that an earlier suite left in the project.
 */
export async function startTestFirestore(indexes: IndexDefinitions, project = TEST_PROJECT): Promise<FirestoreFront> {
  if (!TEST_FIRESTORE) return startFirestore({ indexes });
  await clearEmulator(TEST_FIRESTORE, `projects/${project}/databases/(default)`);
  return startFirestoreFront(TEST_FIRESTORE);
}

/** The Firestore of the tests, for what only the embedded one can do. @throws Error over another one */
export function requireEmbedded(firestore: FirestoreFront): EmbeddedFirestore {
  if (TEST_FIRESTORE) throw new Error('This suite needs the embedded Firestore: run it without TEST_FIRESTORE.');
  return firestore as EmbeddedFirestore;
}

/** Has the service's code and Google's libraries, in this process, use a Firestore that asks for no credentials. */
export function useFirestoreEmulator(address: string, project: string): void {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  process.env['GCLOUD_PROJECT'] = project;
  // As with Firebase's emulator: the Firestore SDK does not look for credentials that are not
  // needed.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}

/** Reads all documents of a database in one query, as the SDK does to delete a database; its public API has none for that. */
export async function readAllDocuments(db: Firestore): Promise<QueryDocumentSnapshot[]> {
  const { docs } = await queryAllDocuments(db).get();
  return docs;
}
