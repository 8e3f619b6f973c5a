import { defineBoolean, defineInt, defineSecret, defineString, expr, projectID } from 'firebase-functions/params';
import { parseApiKeys, type ApiKey } from './api-keys';
import { LoggableError } from './errors';
import { findOriginProblem } from './origins';

/**
 * The service's parameters and secrets. No other module of functions/src reads them. No module calls `value()`
 * while it loads, because Firebase's tools load the functions before all parameters have values. Checks that run during
 * the load read the environment instead.
 */

/** An invalid setting. Its stack is only its message, so that the programs that load the functions print no stack frames. */
export class ConfigError extends LoggableError {
  override readonly name = 'ConfigError';
  override readonly stack = this.message;
}

export const apiKeySecret = defineSecret('API_KEY');

const corsAllowedOrigins = defineString('CORS_ALLOWED_ORIGINS', {
  default: '',
  label: 'Origins whose pages may call get warehouses',
  description: 'Exact origins, comma-separated, such as https://dashboard.example.com. If empty, no origin is allowed.',
});

export const DEFAULT_DATABASE_ID = '(default)';

const databaseId = defineString('DATABASE_ID', {
  default: DEFAULT_DATABASE_ID,
  label: 'Firestore database',
  description: 'Can differ from (default) after a restore, because Google restores only into a new database.',
});

const writesPaused = defineFlag('WRITES_PAUSED', {
  default: false,
  label: 'Whether add price lists and the sweep are paused',
  description: 'Set it to true while a restore imports data. Reads continue.',
});

export const instanceLimits = {
  minInstances: defineInt('MIN_INSTANCES', {
    default: 0,
    label: 'Instances that each operation keeps running',
    description: 'With 0 the first request after an idle time waits for a cold start.',
  }),
  maxInstances: defineInt('MAX_INSTANCES', {
    default: 20,
    label: 'Maximum number of instances of each operation',
    description: 'Bounds the cost. The platform rejects requests beyond the capacity of these instances.',
  }),
};

/**
 * Returns an expression for the full address of a service account of the deployed project, because Firebase's tools
 * complete `name@` for the function, but not when they grant the account access to a secret.
 */
export const getServiceAccount = (name: string) => expr`${name}@${projectID}.iam.gserviceaccount.com`;

export const getApiKeys = (): ApiKey[] => parseApiKeys(apiKeySecret.value()).keys;

/** Reads the environment directly, for the same reason as {@link assertAllowedOrigins}. */
export const getInvalidApiKeyLines = (): number[] => parseApiKeys(process.env[apiKeySecret.name] ?? '').invalidLines;

export const getDatabaseId = (): string => databaseId.value().trim() || DEFAULT_DATABASE_ID;

export const areWritesPaused = (): boolean => writesPaused.value();

export const getAllowedOrigins = (): string[] => parseOrigins(corsAllowedOrigins.value());

/**
 * Fails the start of an instance of get warehouses, and a deployment, if an allowed origin can never match.
 * Reads the environment directly, because a parameter must not be read while a deployment loads the module.
 *
 * @throws ConfigError
 */
export function assertAllowedOrigins(): void {
  const origins = parseOrigins(process.env[corsAllowedOrigins.name] ?? '');
  const problem = origins.map(findOriginProblem).find((each) => each !== undefined);
  if (problem !== undefined) throw new ConfigError(`CORS_ALLOWED_ORIGINS: ${problem}`);
}

/** @param service name of the service if `K_SERVICE` is not set */
export const getServiceContext = (service: string) => ({
  service: process.env['K_SERVICE'] ?? service,
  version: process.env['K_REVISION'] ?? 'local',
});

/** `commit` is the digest of the deployed files. The build replaces these variables with their values. */
export const getBuild = () => ({
  version: process.env['BUILD_VERSION'] ?? 'local',
  commit: process.env['BUILD_COMMIT'] ?? 'local',
});

/** Whether Firebase's emulator of functions runs this process. */
export const isFunctionsEmulator = (): boolean => process.env['FUNCTIONS_EMULATOR'] !== undefined;

/** Firebase's emulator sets `K_SERVICE` too. */
export const isCloudRunInstance = (): boolean => process.env['K_SERVICE'] !== undefined && !isFunctionsEmulator();

/** The `host:port` of the Firestore to use instead of Google's. The Firestore SDK reads the same variable. */
export const getFirestoreEmulator = (): string | undefined => process.env['FIRESTORE_EMULATOR_HOST'];

/**
 * Defines a parameter that is exactly `true` or `false`, because the SDK takes every other text for false, so a mistyped
 * pause would pause nothing. Reads the environment directly, for the same reason as {@link assertAllowedOrigins}.
 *
 * @throws ConfigError, which fails the start of an instance, and a deployment
 */
function defineFlag(name: string, options: Parameters<typeof defineBoolean>[1]): ReturnType<typeof defineBoolean> {
  const text = process.env[name];
  if (text === undefined || text === 'true' || text === 'false') return defineBoolean(name, options);
  throw new ConfigError(`${name} must be "true" or "false", not ${JSON.stringify(text)}.`);
}

function parseOrigins(value: string): string[] {
  return value
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
}
