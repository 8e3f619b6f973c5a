import { startFirestore } from '../../packages/firestore-local/src/internal';
import { createSampleRecords, SAMPLE_SEED } from '../sample';
import type { FirestoreCommand, FirestoreReport } from './running-firestore';

/** The process of the embedded Firestore. It reports once how it started, and ends when its parent ends for any reason. */

// If the parent has already ended, nobody reads the report.
const report = (message: FirestoreReport) => process.send?.(message, () => undefined);

async function start({ sampleProject, ...options }: FirestoreCommand): Promise<void> {
  const firestore = await startFirestore(options);
  process.once('disconnect', () => void firestore.close().then(() => process.exit()));
  const seeded =
    sampleProject === undefined ? 0 : await firestore.addIfEmpty(sampleProject, createSampleRecords(SAMPLE_SEED));
  report({ address: firestore.address, seeded });
}

// A terminal sends Ctrl-C and its hang-up to all its processes. This process ignores them and waits for its parent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('message', (command: FirestoreCommand) => {
  start(command).catch((error: unknown) => report({ error: error instanceof Error ? error.message : String(error) }));
});
