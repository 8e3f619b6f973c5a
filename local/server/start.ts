import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { loadFunctions } from './load-functions';
import { PROJECT, readConfig, StartupError, type LocalConfig } from './local-config';
import { installLogFormat } from './log-format';
import { assertPortFree } from './port';
import { connectFirestore, startFirestoreThread, type RunningFirestore } from './running-firestore';
import type { StartServer } from './serve';

/**
 * `npm start` builds the functions and serves them over a Firestore of their own until Ctrl-C. `npm run dev` (`--watch`)
 * replaces them whenever a source file is saved. Checks the config before it loads anything large.
 */

export { PROJECT };

const BUNDLE = 'functions/dist';

/** Time for open requests to finish after Ctrl-C. */
const GRACE_MS = 10_000;

/** A second signal within this time is the same Ctrl-C: a terminal also sends it to npm, which passes it on. */
const SAME_SIGNAL_MS = 500;

async function main(): Promise<void> {
  const isWatching = process.argv.includes('--watch');
  const config = readConfig(process.env);
  await assertPortFree(config.functionsPort, 'FUNCTIONS_PORT');
  setEnvironment(config);
  const [firestore, serve] = await Promise.all([openFirestore(config), loadServer(isWatching)]);
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  const server = await serve(config, firestore);

  stopOnSignal(async () => {
    await server.close(GRACE_MS);
    await firestore.close();
    console.log(`Stopped. ${describeData(config)}`);
  });
  console.log(server.message);
  const task = isWatching ? 'Saved files in functions/src are live at once.' : '';
  console.log(`Ready in ${(performance.now() / 1000).toFixed(1)} s. ${task} Ctrl-C stops it.`.replace('  ', ' '));
}

/** Where the data is after the end. */
function describeData({ firestore }: LocalConfig): string {
  if (typeof firestore === 'string') return `The data is in the Firestore at ${firestore}.`;
  if (firestore.dataDir === ':memory:') return 'The data was in memory only and is gone.';
  return `The data stays in ${firestore.dataDir} for the next start. To start over, delete this folder.`;
}

/** Loads the functions first, because they reject an invalid setting, and then the packages that serve them. */
async function loadServer(isWatching: boolean) {
  installLogFormat({ isTerminal: process.stdout.isTTY, getTime: () => new Date() });
  const startServer = isWatching ? (await import('./dev-server')).startDevServer : await loadBuild();
  const { serve } = await import('./serve');
  return (config: LocalConfig, firestore: RunningFirestore) => serve(config, firestore, startServer);
}

/** The functions look for Firestore at their first request, so its address may be set later. */
async function loadBuild(): Promise<StartServer> {
  await buildIfChanged();
  try {
    // The built package loads each function when it is first read.
    const functions = { ...loadFunctions(BUNDLE) };
    const { startFunctionsServer } = await import('./functions-server');
    return (options) => startFunctionsServer({ ...options, functions });
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw new StartupError(error.message);
    throw error;
  }
}

async function buildIfChanged(): Promise<void> {
  const build = promisify(execFile)(process.execPath, ['scripts/build.mjs', '--if-changed']);
  // A start that fails meanwhile leaves no build behind.
  process.once('exit', () => build.child.kill());
  try {
    await build;
  } catch (error) {
    throw new StartupError(describeBuildFailure((error as { stderr?: string }).stderr ?? ''));
  }
}

function describeBuildFailure(stderr: string): string {
  const [code] = /\bE[A-Z]{3,}\b(?=: .*functions[\\/])/.exec(stderr) ?? [];
  return code === undefined
    ? `The functions could not be built.\n${stderr}`
    : `The functions could not be built, because ${BUNDLE} cannot be written (${code}): use a checkout that you can write to.`;
}

async function openFirestore({ firestore, sampleData }: LocalConfig): Promise<RunningFirestore> {
  if (typeof firestore === 'string') return connectFirestore(firestore);
  return startFirestoreThread(firestore, sampleData ? PROJECT : undefined);
}

/** Sets what the functions and the Firestore clients of this process read, over the shell's values for other projects. */
function setEnvironment({ apiKey, corsAllowedOrigins, firestore }: LocalConfig): void {
  Object.assign(process.env, {
    GCLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_PROJECT: PROJECT,
    FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
    API_KEY: apiKey,
    CORS_ALLOWED_ORIGINS: corsAllowedOrigins,
    // Google's libraries would look for a metadata server on the network.
    METADATA_SERVER_DETECTION: 'none',
  });
  // gRPC would use the shell's proxy for the embedded Firestore, too.
  if (typeof firestore === 'object') process.env['no_grpc_proxy'] = '127.0.0.1';
}

/** Stops cleanly at the first Ctrl-C or SIGTERM, and immediately at the second. */
function stopOnSignal(stop: () => Promise<void>): void {
  let signalledAt: number | undefined;
  const onSignal = () => {
    if (signalledAt === undefined) {
      signalledAt = performance.now();
      setTimeout(
        () => console.log('Waiting for open requests. Press Ctrl-C again to stop immediately.'),
        SAME_SIGNAL_MS,
      );
      stop().then(() => process.exit(0), fail);
    } else if (performance.now() - signalledAt > SAME_SIGNAL_MS) {
      process.exit(130);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

function fail(error: unknown): void {
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
}

main().catch(fail);
