import { once } from 'node:events';
import { createServer } from 'node:net';
import { HOST, StartupError } from './local-config';

/** The setting of a port: an environment variable, or a property of a file. */
type PortSetting = 'FUNCTIONS_PORT' | 'FIRESTORE_PORT' | `emulators.${string}.port of firebase.json`;

/** @throws StartupError if another program listens at the port that the setting names */
export async function assertPortFree(port: number, setting: PortSetting): Promise<void> {
  const server = createServer().listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw toPortError(error, port, setting);
  }
  server.close();
  await once(server, 'close');
}

/** @returns a StartupError with advice if the port is taken, otherwise the error itself */
export function toPortError(error: unknown, port: number, setting: PortSetting): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  return new StartupError(`Port ${port} is taken. Stop what listens there, or choose another with ${setting}.`);
}
