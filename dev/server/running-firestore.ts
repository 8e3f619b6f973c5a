import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { IndexDefinitions } from '../../emulator/src';
import { createSampleRecords } from '../sample';
import { PROJECT, StartupError, type LocalConfig } from './local-config';

/** The Firestore to use. `address` is the value for FIRESTORE_EMULATOR_HOST. */
export interface RunningFirestore {
  address: string;
  /** The number of sample records that were added; undefined for a Firestore that is not embedded. */
  seeded: number | undefined;
  close(): Promise<void>;
}

/** The time limit for connecting to a Firestore that FIRESTORE_EMULATOR_HOST names. */
const CONNECT_MS = 3_000;

/** @throws StartupError if the named Firestore accepts no connection, or the embedded one cannot start */
export const openFirestore = (config: LocalConfig): Promise<RunningFirestore> =>
  typeof config.firestore === 'string'
    ? connectFirestore(config.firestore)
    : embedFirestore(config.firestore, config.sampleData);

/** Checks that the Firestore at an address accepts connections. Without this check, the SDK would retry silently for a minute. */
async function connectFirestore(address: string): Promise<RunningFirestore> {
  const [, host = '', port = '0'] = /^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [];
  try {
    const socket = connect({ host, port: Number(port) });
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) }).finally(() => socket.destroy());
  } catch {
    throw new StartupError(
      `No Firestore responds at "${address}". Start one there, or correct FIRESTORE_EMULATOR_HOST.`,
    );
  }
  return { address, seeded: undefined, close: () => Promise.resolve() };
}

/**
 * Starts the embedded Firestore with the indexes of a deployment. If the database is empty, adds the sample data, unless SAMPLE_DATA
 * is false.
 */
async function embedFirestore(
  { port, dataDir }: { port: number; dataDir: string },
  sampleData: boolean,
): Promise<RunningFirestore> {
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const { startFirestore } = await import('../../emulator/src');
  try {
    const firestore = await startFirestore({ port, dataDir, indexes });
    const seeded = sampleData ? await firestore.addIfEmpty(PROJECT, createSampleRecords()) : 0;
    return { address: firestore.address, seeded, close: () => firestore.close() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(`Firestore cannot start (FIRESTORE_PORT ${port}, DATA_DIR ${dataDir}): ${reason}`);
  }
}
