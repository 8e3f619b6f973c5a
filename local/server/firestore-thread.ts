import { parentPort, workerData } from 'node:worker_threads';
import { startFirestore } from '../../packages/firestore-local/src';
import { createSampleRecords, SAMPLE_SEED } from '../sample';
import type { FirestoreThreadData, ThreadMessage } from './running-firestore';

/** The thread of the embedded Firestore. It says once how it started, and stops at the first message that it gets. */

const say = (started: ThreadMessage) => parentPort?.postMessage(started);

const { sampleProject, ...options } = workerData as FirestoreThreadData;

async function start(): Promise<void> {
  const firestore = await startFirestore(options);
  parentPort?.once('message', () => void firestore.close().then(() => process.exit()));
  const seeded =
    sampleProject === undefined ? 0 : await firestore.addIfEmpty(sampleProject, createSampleRecords(SAMPLE_SEED));
  say({ address: firestore.address, seeded });
}

start().catch((error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }));
