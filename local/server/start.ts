import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Firestore } from '@google-cloud/firestore';
import { createDataRoutes } from '../data-pages';
import { createDataSource } from '../data-pages/data-source';
import { createReferenceRoutes } from '../reference';
import { seedIfEmpty } from '../sample';
import { startFunctionsServer, type FunctionsServer, type GetRoute } from './functions-server';
import { loadFunctions } from './load-functions';
import { getFirstApiKey, readConfig, StartupError, type LocalConfig } from './local-config';
import { installLogFormat } from './log-format';
import { connectFirestore, startFirestoreThread, type RunningFirestore } from './running-firestore';
import { formatStartupMessage } from './startup-message';

/**
 * `npm start` builds the functions and serves them over a Firestore of their own until Ctrl-C. `npm run dev` (`--watch`)
 * replaces them whenever a source file is saved.
 */

export const PROJECT = 'demo-price-lists';
const BUNDLE = 'functions/dist';

/** Time for open requests to finish after Ctrl-C. */
const GRACE_MS = 10_000;

/** A second signal within this time is the same Ctrl-C: a terminal also sends it to npm, which passes it on. */
const SAME_SIGNAL_MS = 500;

async function main(): Promise<void> {
  const isWatching = process.argv.includes('--watch');
  const config = readConfig(process.env);
  const [firestore] = await Promise.all([openFirestore(config), isWatching ? undefined : build()]);
  setEnvironment(config, firestore.address);
  const client = new Firestore();
  const seeded = config.sampleData ? await seedIfEmpty(client) : 0;
  const functions = await serveFunctions(config, client, isWatching);

  stopOnSignal(async () => {
    await functions.close(GRACE_MS);
    await client.terminate();
    await firestore.close();
  });
  console.log(formatStartupMessage({ config, functions, firestoreAddress: firestore.address, seeded }));
  const task = isWatching ? 'Saved files in functions/src are live at once.' : '';
  console.log(`Ready in ${(performance.now() / 1000).toFixed(1)} s. ${task} Ctrl-C stops it.`.replace('  ', ' '));
}

async function build(): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, ['scripts/build.mjs']);
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

async function openFirestore({ firestore }: LocalConfig): Promise<RunningFirestore> {
  return typeof firestore === 'string' ? connectFirestore(firestore) : startFirestoreThread(firestore);
}

/** Sets what the functions and the Firestore clients of this process read, over the shell's values for other projects. */
function setEnvironment({ apiKey, corsAllowedOrigins, firestore }: LocalConfig, firestoreAddress: string): void {
  Object.assign(process.env, {
    GCLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_PROJECT: PROJECT,
    FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
    FIRESTORE_EMULATOR_HOST: firestoreAddress,
    API_KEY: apiKey,
    CORS_ALLOWED_ORIGINS: corsAllowedOrigins,
    // Google's libraries would look for a metadata server on the network.
    METADATA_SERVER_DETECTION: 'none',
  });
  // gRPC would use the shell's proxy for the embedded Firestore, too.
  if (typeof firestore === 'object') process.env['no_grpc_proxy'] = '127.0.0.1';
}

async function serveFunctions(
  { functionsPort: port, apiKey }: LocalConfig,
  client: Firestore,
  isWatching: boolean,
): Promise<FunctionsServer> {
  const referenceRoutes = createReferenceRoutes(getFirstApiKey(apiKey));
  const getDataRoute = createDataRoutes(createDataSource(client));
  const getExtraRoute: GetRoute = (path) => referenceRoutes.get(path) ?? getDataRoute(path);
  installLogFormat({ isTerminal: process.stdout.isTTY, getTime: () => new Date() });
  try {
    if (isWatching) {
      const { startDevServer } = await import('./dev-server');
      return await startDevServer({ port, project: PROJECT, getExtraRoute });
    }
    return await startFunctionsServer({ port, project: PROJECT, functions: loadFunctions(BUNDLE), getExtraRoute });
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw new StartupError(error.message);
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new StartupError(`Port ${port} is taken. Stop what listens there, or choose another with FUNCTIONS_PORT.`);
  }
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
