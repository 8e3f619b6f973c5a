import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Firestore } from '@google-cloud/firestore';
import { startFirestoreThread, connectFirestore, type RunningFirestore } from './running-firestore';
import { startFunctionsServer, type FunctionsServer } from './functions-server';
import { formatStartupMessage } from './startup-message';
import { getFirstApiKey, readConfig, StartupError, type LocalConfig } from './local-config';
import { createReferenceRoutes } from '../reference';
import { seedIfEmpty } from '../sample';

/** `npm start`: builds the functions, and runs them over a Firestore of their own until Ctrl-C. */

const PROJECT = 'demo-price-lists';
const BUNDLE = 'functions/dist';

/** Milliseconds that requests under way at Ctrl-C have to finish. */
const GRACE_MS = 10_000;

/** Milliseconds within which a second signal is the same Ctrl-C: a terminal sends it to npm too, which passes it on. */
const SAME_SIGNAL_MS = 500;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const [firestore] = await Promise.all([openFirestore(config), build()]);
  setEnvironment(config, firestore.address);
  const seeded = config.sampleData ? await seed() : 0;
  const functions = await listen(config);

  stopOnSignal(async () => {
    await functions.close(GRACE_MS);
    await firestore.close();
  });
  console.log(formatStartupMessage({ config, functions, firestoreAddress: firestore.address, seeded }));
  console.log(`Ready in ${(performance.now() / 1000).toFixed(1)} s. Ctrl-C stops it.`);
}

async function build(): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, ['scripts/build.mjs']);
  } catch (error) {
    throw new StartupError(`The functions could not be built.\n${(error as { stderr?: string }).stderr ?? ''}`);
  }
}

async function openFirestore({ firestore }: LocalConfig): Promise<RunningFirestore> {
  return typeof firestore === 'string' ? connectFirestore(firestore) : startFirestoreThread(firestore);
}

/** What the functions and every client of Firestore in this process go by, whatever the shell had for other projects. */
function setEnvironment({ apiKey, corsAllowedOrigins, firestore }: LocalConfig, firestoreAddress: string): void {
  Object.assign(process.env, {
    GCLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_PROJECT: PROJECT,
    FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
    FIRESTORE_EMULATOR_HOST: firestoreAddress,
    API_KEY: apiKey,
    CORS_ALLOWED_ORIGINS: corsAllowedOrigins,
    // Google's libraries would ask around whether this is one of Google's machines.
    METADATA_SERVER_DETECTION: 'none',
  });
  // gRPC would take the way to an embedded Firestore, too, through the proxy that a shell is set up for.
  if (typeof firestore === 'object') process.env['no_grpc_proxy'] = '127.0.0.1';
}

async function seed(): Promise<number> {
  const client = new Firestore();
  try {
    return await seedIfEmpty(client);
  } finally {
    await client.terminate();
  }
}

async function listen({ functionsPort: port, apiKey }: LocalConfig): Promise<FunctionsServer> {
  const extraRoutes = createReferenceRoutes(getFirstApiKey(apiKey));
  try {
    return await startFunctionsServer({ port, project: PROJECT, bundle: BUNDLE, extraRoutes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new StartupError(`Port ${port} is taken. Stop what listens there, or choose another with FUNCTIONS_PORT.`);
  }
}

/** Stops cleanly at the first Ctrl-C or SIGTERM, and at once at the second. */
function stopOnSignal(stop: () => Promise<void>): void {
  let signalledAt: number | undefined;
  const onSignal = () => {
    if (signalledAt === undefined) {
      signalledAt = performance.now();
      setTimeout(() => console.log('Waiting for requests under way. Ctrl-C again stops at once.'), SAME_SIGNAL_MS);
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
