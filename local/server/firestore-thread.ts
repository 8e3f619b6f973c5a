import { parentPort, workerData } from 'node:worker_threads';
import { startFirestore, type FirestoreOptions } from '../firestore';
import type { ThreadMessage } from './running-firestore';

/** The thread of the embedded Firestore. It says once how it started, and stops at the first message that it gets. */

const say = (started: ThreadMessage) => parentPort?.postMessage(started);

startFirestore(workerData as FirestoreOptions).then(
  (firestore) => {
    parentPort?.once('message', () => void firestore.close().then(() => process.exit()));
    say({ address: firestore.address });
  },
  (error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }),
);
