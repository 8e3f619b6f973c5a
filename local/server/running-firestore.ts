import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { FirestoreOptions, IndexDefinitions } from '../../packages/firestore-local/src';
import { PROJECT, StartupError, type LocalConfig } from './local-config';

/** The message from the parent to the process of the embedded Firestore. */
export type FirestoreCommand = FirestoreOptions & {
  /** The project that receives the sample data if it is empty. */
  sampleProject: string | undefined;
};

/** The one report of that process: where it listens, or why it could not start. */
export type FirestoreReport = { address: string; seeded: number } | { error: string };

/** The embedded Firestore in its process. */
export interface RunningFirestore {
  /** The value of FIRESTORE_EMULATOR_HOST. */
  address: string;
  /** The number of sample records that were added. */
  seeded: number;
  close(): Promise<void>;
}

/** Returns the Firestore of a parent process, which has added the sample data and closes it. */
export const getEmbeddedFirestore = (address: string): RunningFirestore => ({
  address,
  seeded: 0,
  close: () => Promise.resolve(),
});

/**
 * Starts the embedded Firestore in another process, so that its data survives a reload of the functions. It has the indexes that a
 * deployment would have, and adds the sample data itself, so that `npm start` need not load the SDK.
 *
 * @throws StartupError if it cannot start
 */
export async function openFirestore({ firestore, sampleData }: LocalConfig): Promise<RunningFirestore> {
  const { port, dataDir } = firestore;
  const sampleProject = sampleData ? PROJECT : undefined;
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  // Node 22 warns that node:sqlite is experimental.
  const execArgv = ['--disable-warning=ExperimentalWarning', '--import', 'tsx'];
  const child = fork('local/server/firestore-process.ts', { execArgv });
  child.send({ port, dataDir, indexes, sampleProject } satisfies FirestoreCommand);
  const exited = once(child, 'exit');
  const report = await Promise.race([
    once(child, 'message').then(([message]) => message as FirestoreReport),
    exited.then(([code, signal]): FirestoreReport => ({ error: `its process ended with ${code ?? signal}` })),
  ]);
  if ('error' in report)
    throw new StartupError(`Firestore cannot start (FIRESTORE_PORT ${port}, DATA_DIR ${dataDir}): ${report.error}`);
  let isClosing = false;
  child.once('exit', () => {
    if (isClosing) return;
    console.error('The embedded Firestore ended, and so does this. Start it again.');
    process.exit(1);
  });
  const close = async () => {
    isClosing = true;
    child.disconnect();
    await exited;
  };
  return { ...report, close };
}
