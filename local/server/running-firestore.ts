import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { FirestoreOptions, IndexDefinitions } from '../../packages/firestore-local/src';
import { PROJECT, StartupError, type LocalConfig } from './local-config';

/** The message from the parent to the process of the embedded Firestore. */
export type FirestoreCommand = FirestoreOptions & {
  /** The project that receives the sample data if it is empty. */
  sampleProject: string | undefined;
};

/** The one report of that process: where it listens, or why it could not start. */
export type FirestoreReport = { address: string; seeded: number } | { error: string };

/** A Firestore to use: `address` is the value of FIRESTORE_EMULATOR_HOST. */
export interface RunningFirestore {
  address: string;
  isEmbedded: boolean;
  /** The number of sample records that were added; undefined for a Firestore that is not embedded. */
  seeded: number | undefined;
  close(): Promise<void>;
}

/** The time limit to connect to a Firestore that FIRESTORE_EMULATOR_HOST names. */
const CONNECT_MS = 3_000;

/** @throws StartupError if the named Firestore accepts no connection, or the embedded one cannot start */
export function openFirestore({ firestore, sampleData }: LocalConfig): Promise<RunningFirestore> {
  if (typeof firestore === 'string') return connectFirestore(firestore);
  return startFirestoreProcess(firestore, sampleData ? PROJECT : undefined);
}

/** Returns the embedded Firestore that dev.ts has started, with any sample data, and will close. */
export const getEmbeddedFirestore = (address: string): RunningFirestore => ({
  address,
  isEmbedded: true,
  seeded: 0,
  close: () => Promise.resolve(),
});

/** Checks that a Firestore that is already running accepts connections. Without this check, the SDK would retry silently for a minute. */
async function connectFirestore(address: string): Promise<RunningFirestore> {
  const [, host = '', port = '0'] = /^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [];
  try {
    const socket = connect({ host, port: Number(port) });
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) }).finally(() => socket.destroy());
  } catch {
    throw new StartupError(`No Firestore responds at "${address}". FIRESTORE_EMULATOR_HOST must be its host:port.`);
  }
  return { address, isEmbedded: false, seeded: undefined, close: () => Promise.resolve() };
}

/**
 * Starts the embedded Firestore in another process, so that its data survives a reload of the functions. It has the indexes that a
 * deployment would have, and adds the sample data itself, so that `npm start` need not load the SDK.
 */
async function startFirestoreProcess(
  { port, dataDir }: { port: number; dataDir: string },
  sampleProject: string | undefined,
): Promise<RunningFirestore> {
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
    console.error('The embedded Firestore ended, so this program ends too. Start it again.');
    process.exit(1);
  });
  const close = async () => {
    isClosing = true;
    child.disconnect();
    await exited;
  };
  return { address: report.address, isEmbedded: true, seeded: report.seeded, close };
}
