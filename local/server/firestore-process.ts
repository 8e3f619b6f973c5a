import { startFirestore, type EmbeddedFirestore } from '../../packages/firestore-local/src';
import { createSampleRecords } from '../sample';
import type { FirestoreCommand, FirestoreReport } from './running-firestore';

/** The process of the embedded Firestore. It reports once how it started, and ends when its parent disconnects or ends for any reason. */

async function start({ sampleProject, ...options }: FirestoreCommand): Promise<FirestoreReport> {
  firestore = await startFirestore(options);
  const seeded = sampleProject === undefined ? 0 : await firestore.addIfEmpty(sampleProject, createSampleRecords());
  return { address: firestore.address, seeded };
}

async function stop(): Promise<void> {
  await firestore?.close().catch(console.error);
  process.exit();
}

let firestore: EmbeddedFirestore | undefined;
// A terminal sends Ctrl-C and its hang-up to all its processes. This process ignores them and waits for its parent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => void stop());
process.once('message', (command: FirestoreCommand) => {
  const toError = (error: unknown): FirestoreReport => ({
    error: error instanceof Error ? error.message : String(error),
  });
  // The last callback ignores the error of a report to a parent that has already ended.
  void start(command)
    .catch(toError)
    .then((report) => process.send?.(report, () => undefined));
});
