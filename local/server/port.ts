import { once } from 'node:events';
import { createServer } from 'node:net';
import { HOST, StartupError } from './local-config';

type PortVariable = 'FUNCTIONS_PORT' | 'FIRESTORE_PORT';

/** @throws StartupError if another program listens at the port that the environment variable names */
export async function assertPortFree(port: number, variable: PortVariable): Promise<void> {
  const server = createServer().listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw toPortError(error, port, variable);
  }
  server.close();
  await once(server, 'close');
}

/** @returns what to do if the error is that the port is taken; otherwise the error */
export function toPortError(error: unknown, port: number, variable: PortVariable): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  return new StartupError(`Port ${port} is taken. Stop what listens there, or choose another with ${variable}.`);
}
