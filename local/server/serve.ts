import { Firestore } from '@google-cloud/firestore';
import { createDataRoutes } from '../data-pages';
import { createDataSource } from '../data-pages/data-source';
import { createReferenceRoutes } from '../reference';
import { seedIfEmpty } from '../sample';
import type { DevServerOptions } from './dev-server';
import type { FunctionsServer } from './functions-server';
import { getFirstApiKey, PROJECT, type LocalConfig } from './local-config';
import { toPortError } from './port';
import { formatStartupMessage } from './startup-message';

/**
 * Serves the functions and the local pages. Loads the Firestore SDK and the Functions Framework, so start.ts imports it only
 * when the config is valid.
 */

export interface LocalServer {
  /** What to print once it serves. */
  message: string;
  /** Lets open requests finish, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export type StartServer = (options: DevServerOptions) => Promise<FunctionsServer>;

/**
 * Adds the sample data to an empty Firestore and starts the server.
 *
 * @throws StartupError if the port is taken
 */
export async function serve(
  config: LocalConfig,
  firestoreAddress: string,
  startServer: StartServer,
): Promise<LocalServer> {
  const client = new Firestore();
  const seeded = config.sampleData ? await seedIfEmpty(client) : 0;
  const referenceRoutes = createReferenceRoutes(getFirstApiKey(config.apiKey));
  const getDataRoute = createDataRoutes(createDataSource(client));
  const functions = await startServer({
    port: config.functionsPort,
    project: PROJECT,
    getExtraRoute: (path) => referenceRoutes.get(path) ?? getDataRoute(path),
  }).catch((error: unknown) => {
    throw toPortError(error, config.functionsPort, 'FUNCTIONS_PORT');
  });
  return {
    message: formatStartupMessage({ config, functions, firestoreAddress, seeded }),
    close: async (graceMs) => {
      await functions.close(graceMs);
      await client.terminate();
    },
  };
}
