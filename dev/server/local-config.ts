/** The project id of the local server and its data. For Firebase's tools, `demo-` marks a project that exists only locally. */
export const PROJECT = 'demo-price-lists';

/** The loopback address, so that nothing outside this machine can call the functions. */
export const HOST = '127.0.0.1';

/** The settings of `npm start` and `npm run dev`: the variables of CONTRIBUTING.md#local-environment-variables. */
export interface LocalConfig {
  functionsPort: number;
  /** The address of a Firestore that runs already, or how to embed one. */
  firestore: string | { port: number; dataDir: string };
  sampleData: boolean;
  apiKey: string;
  corsAllowedOrigins: string;
}

/** An error that stops the start of the local server. The terminal shows only its message. */
export class StartupError extends Error {}

/** @throws StartupError */
export function readConfig(env: NodeJS.ProcessEnv): LocalConfig {
  // An empty value counts as unset, except for API_KEY and CORS_ALLOWED_ORIGINS, where it means none.
  const value = (name: string, byDefault: string) => {
    const set = env[name]?.trim() ?? '';
    return set === '' ? byDefault : set;
  };
  const firestorePort = parsePort('FIRESTORE_PORT', value('FIRESTORE_PORT', '8080'));
  const dataDir = value('DATA_DIR', '.local-data');
  const firestoreAddress = value('FIRESTORE_EMULATOR_HOST', '');
  if (!/^($|[^/\s]+:\d+$)/.test(firestoreAddress))
    throw new StartupError(`FIRESTORE_EMULATOR_HOST must be host:port, not "${firestoreAddress}".`);
  return {
    functionsPort: parsePort('FUNCTIONS_PORT', value('FUNCTIONS_PORT', '5001')),
    firestore: firestoreAddress === '' ? { port: firestorePort, dataDir } : firestoreAddress,
    sampleData: parseBoolean('SAMPLE_DATA', value('SAMPLE_DATA', 'true')),
    apiKey: env['API_KEY'] ?? 'local-dev-key',
    corsAllowedOrigins: env['CORS_ALLOWED_ORIGINS'] ?? 'http://localhost:3000',
  };
}

function parsePort(name: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new StartupError(`${name} must be a number from 0 to 65535, not "${text}".`);
}

function parseBoolean(name: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new StartupError(`${name} must be "true" or "false", not "${text}".`);
}
