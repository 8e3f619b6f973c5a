import type { Firestore } from '@google-cloud/firestore';
import { parseApiKeys } from '../../functions/src/lib/api-keys';
import { createDataRoutes } from '../pages/data';
import { createPageRoutes } from '../pages';
import { seedIfEmpty } from '../sample';
import { startFunctionsServer, type DeployableFunction } from './functions-server';
import { PROJECT, StartupError, type LocalConfig } from './local-config';
import type { RunningFirestore } from './running-firestore';
import { formatCalls, formatFacts } from './startup-message';

/**
 * Serves the functions and the local pages. start.ts imports this module late, so that start.ts can report a wrong setting at once. This
 * module loads the Firestore SDK, which takes long, only for the first data page, or for sample data in a Firestore that is not embedded.
 */

export interface LocalServer {
  message: string;
  /** The addresses and settings. `message` also has a curl command for each operation. */
  facts: string;
  /** `http://127.0.0.1:<port>` */
  origin: string;
  /** Lets open requests finish, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Adds the sample data to a Firestore that is empty and not embedded, unless SAMPLE_DATA is false, and starts the server.
 *
 * @throws StartupError if the port is taken; another error of {@link startFunctionsServer}; the error of the Firestore SDK if the
 * sample data cannot be added
 */
export async function serve(
  config: LocalConfig,
  firestore: RunningFirestore,
  served: Readonly<Record<string, DeployableFunction>>,
): Promise<LocalServer> {
  let client: Promise<Firestore> | undefined;
  const getClient = () => (client ??= import('@google-cloud/firestore').then(({ Firestore }) => new Firestore()));
  const seeded = firestore.seeded ?? (config.sampleData ? await seedIfEmpty(await getClient()) : 0);
  const getPageRoute = createPageRoutes(parseApiKeys(config.apiKey).plainKeys[0] ?? '');
  const getDataRoute = createDataRoutes(getClient);
  const functions = await startFunctionsServer({
    functions: served,
    port: config.functionsPort,
    project: PROJECT,
    getExtraRoute: (path) => getDataRoute(path) ?? getPageRoute(path),
  }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const advice = 'Stop the program that listens there, or set FUNCTIONS_PORT to another port.';
    throw new StartupError(`Port ${config.functionsPort} is taken. ${advice}`);
  });
  const facts = formatFacts({ config, functions, firestoreAddress: firestore.address, seeded });
  return {
    message: `\n${formatCalls(config.apiKey, functions.addresses)}\n${facts}`,
    facts,
    origin: functions.origin,
    close: async (graceMs) => {
      await functions.close(graceMs);
      await (await client)?.terminate();
    },
  };
}
