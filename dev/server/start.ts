import { existsSync } from 'node:fs';
import { readArguments } from '../program.mjs';
import { setEnvironment } from './environment';
import { loadFunctions } from './load-functions';
import { readConfig, StartupError, type LocalConfig } from './local-config';
import { installLogFormat } from './log-format';
import { openFirestore } from './running-firestore';
import { onStopRequest } from './stop-requests';

/**
 * `npm start` serves the built functions until Ctrl-C, over an embedded Firestore or the one that FIRESTORE_EMULATOR_HOST names.
 * `npm run dev` (dev.ts) starts this program with `--sources`, to serve the functions' source files, and restarts it after each
 * change. Tests name their copy of the built package with `--package`.
 */

const USAGE = `Usage: npm start

Serves the functions over an embedded Firestore with sample data, until Ctrl-C. The command has no options. These environment variables configure it:
FUNCTIONS_PORT, FIRESTORE_PORT, FIRESTORE_EMULATOR_HOST, DATA_DIR, SAMPLE_DATA, API_KEY and CORS_ALLOWED_ORIGINS
(CONTRIBUTING.md#local-environment-variables).`;

const SOURCES = 'functions/src/index.ts';

/** The time that open requests have to finish after Ctrl-C. */
const GRACE_MS = 10_000;

/** If a stop takes longer than this, the program prints that it waits for open requests. */
const HINT_AFTER_MS = 500;

async function main(): Promise<void> {
  const options = {
    sources: { type: 'boolean', default: false },
    package: { type: 'string', default: 'functions/dist' },
  } as const;
  const { sources: isFromSources, package: built } = readArguments(USAGE, { options }).values;
  const config = readConfig(process.env);
  setEnvironment(config);
  if (process.stdout.isTTY) installLogFormat();
  const firestore = await openFirestore(config);
  const functions = loadServedFunctions(isFromSources ? SOURCES : built);
  const { serve } = await import('./serve');
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  const server = await serve(config, firestore, functions);

  stopOnRequest(async () => {
    await server.close(GRACE_MS);
    await firestore.close();
    if (!isFromSources) console.log(`Stopped. ${describeData(config)}`);
  });
  console.log(isFromSources ? server.facts : server.message);
  const hint = isFromSources ? 'Saved files take effect at once. ' : '';
  const seconds = (performance.now() / 1000).toFixed(1);
  console.log(`Ready at ${server.origin} in ${seconds} s. ${hint}Stop with Ctrl-C.`);
}

function describeData({ firestore }: LocalConfig): string {
  if (typeof firestore === 'string') return `The data is in the Firestore at ${firestore}.`;
  if (firestore.dataDir === ':memory:') return 'The data was in memory only and is gone.';
  if (!existsSync(firestore.dataDir)) return `${firestore.dataDir} was deleted, and the data is gone.`;
  return `The data stays in ${firestore.dataDir} for the next start. To start over, delete this folder.`;
}

function loadServedFunctions(from: string): ReturnType<typeof loadFunctions> {
  try {
    return loadFunctions(from);
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw new StartupError(error.message);
    throw error;
  }
}

/** Stops cleanly at the first request to stop, and immediately at the second. */
function stopOnRequest(stop: () => Promise<void>): void {
  let isStopping = false;
  onStopRequest(() => {
    if (isStopping) process.exit(130);
    isStopping = true;
    setTimeout(() => console.log('Waiting for open requests. Press Ctrl-C again to stop immediately.'), HINT_AFTER_MS);
    stop().then(() => process.exit(0), fail);
  });
}

function fail(error: unknown): void {
  // The message of esbuild names the file and shows the line. The stack shows only esbuild's own code.
  const isForUser = error instanceof StartupError || (error instanceof Error && error.name === 'TransformError');
  // A file is missing while a branch is switched, for example. The other lines of the message list the files that import the missing file.
  const isMissing = error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND';
  console.error(isForUser ? error.message : isMissing ? error.message.split('\n', 1)[0] : error);
  process.exit(1);
}

main().catch(fail);
