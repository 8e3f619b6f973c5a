import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assertDataFolder, type FirestoreOptions, type IndexDefinitions } from '../../packages/firestore-local/src';
import { StartupError } from './local-config';
import { assertPortFree } from './port';

/** What the thread says once: where it listens, or why it does not. */
export type ThreadMessage = { address: string; seeded: number } | { error: string };

export type FirestoreThreadData = FirestoreOptions & {
  /** The project to which the sample data is added if it is empty. */
  sampleProject: string | undefined;
};

/** A Firestore to use: `address` is the value of FIRESTORE_EMULATOR_HOST. */
export interface RunningFirestore {
  address: string;
  /** How many sample records were added to it; undefined if it was not looked at. */
  seeded: number | undefined;
  close(): Promise<void>;
}

/** How to embed one. */
interface FirestoreConfig {
  port: number;
  dataDir: string;
}

/** Milliseconds for a Firestore that is said to run to take a connection. */
const CONNECT_MS = 3_000;

/**
 * A Firestore that runs already, at `host:port`.
 *
 * @throws StartError where nothing takes a connection: the SDK would try for a minute, and then not say so
 */
export async function connectFirestore(address: string): Promise<RunningFirestore> {
  const [, host = '', port = '0'] = /^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [];
  try {
    const socket = connect({ host, port: Number(port) });
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) }).finally(() => socket.destroy());
  } catch {
    throw new StartupError(`No Firestore responds at "${address}", the FIRESTORE_EMULATOR_HOST. It is host:port.`);
  }
  return { address, seeded: undefined, close: () => Promise.resolve() };
}

/**
 * Starts the embedded Firestore, with the indexes that a deployment would have, in a thread: it and the functions then
 * have a core each, and a big read or write takes a third less time. A thread, unlike a child process, ends with the process
 * however that ends, and a failure in it ends the process. It adds the sample data itself, which spares a start the SDK.
 *
 * @throws StartError in the embedded Firestore's own words: a taken port, a data folder in use or damaged
 */
export async function startFirestoreThread(
  where: FirestoreConfig,
  sampleProject: string | undefined,
): Promise<RunningFirestore> {
  await assertPortFree(where.port, 'FIRESTORE_PORT');
  assertDataDirUsable(where);
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const workerData: FirestoreThreadData = { ...where, indexes, sampleProject };
  const thread = new Worker(resolve('scripts/run.mjs'), { argv: ['local/server/firestore-thread.ts'], workerData });
  const [started] = (await once(thread, 'message')) as [ThreadMessage];
  if ('error' in started) throw createStartError(where, started.error);
  return {
    address: started.address,
    seeded: started.seeded,
    close: async () => {
      const exited = once(thread, 'exit');
      thread.postMessage('close');
      await exited;
    },
  };
}

/** Opens the data folder and closes it again: the thread needs half a second until it can tell. */
function assertDataDirUsable(where: FirestoreConfig): void {
  try {
    assertDataFolder(where.dataDir);
  } catch (error) {
    throw createStartError(where, (error as Error).message);
  }
}

const createStartError = ({ port, dataDir }: FirestoreConfig, reason: string) =>
  new StartupError(`Firestore cannot start (FIRESTORE_PORT ${port}, DATA_DIR ${dataDir}): ${reason}`);
