import { execFile, fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Tests start programs here, because a program must not inherit how the tests were started: on
 * a terminal Jest asks for colours (`FORCE_COLOR`), npm describes its script, and an editor adds
 * options of Node.
 */

/** Environment variables by name. The value undefined removes one. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Variables for colours, those of Node, npm, Jest and Google's tools, and settings of the service in this shell. */
const NOT_INHERITED = [
  /^(NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM)$/,
  /^(NODE|JEST|npm)_/i,
  /^(FIREBASE|FIRESTORE|GCLOUD|GOOGLE|CLOUDSDK)_/,
  /^(API_KEY|CORS_ALLOWED_ORIGINS|DATABASE_ID|DATA_DIR|SAMPLE_DATA|FUNCTIONS_PORT)$/,
];

/** Variables that a machine can need for a secure connection, or to install packages. */
const INHERITED = /^(NODE_EXTRA_CA_CERTS|npm_config_(registry|cache|userconfig|globalconfig))$/i;

/** The folder of curl's settings, instead of the user's own. */
const CURL_HOME = join(__dirname, 'curl');

/** Returns the environment of a program: what it inherits from this process, with CURL_HOME and `variables` added. */
export function createProgramEnvironment(variables: Variables = {}): NodeJS.ProcessEnv {
  const isInherited = ([name]: [string, unknown]) =>
    INHERITED.test(name) || !NOT_INHERITED.some((pattern) => pattern.test(name));
  return { ...Object.fromEntries(Object.entries(process.env).filter(isInherited)), CURL_HOME, ...variables };
}

export interface ProgramOptions {
  cwd?: string;
  /** Passed to {@link createProgramEnvironment}. */
  env?: Variables;
}

/**
 * Runs a program to its end.
 *
 * @throws the error of `execFile`, with `code`, `stdout` and `stderr`, if it fails
 */
export const runProgram = (
  program: string,
  args: readonly string[] = [],
  { env, ...options }: ProgramOptions & { maxBuffer?: number } = {},
): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(program, args, { ...options, env: createProgramEnvironment(env) });

/** Runs a program to its end, whatever its exit code. */
export const runProgramSync = (program: string, args: readonly string[], { env, ...options }: ProgramOptions = {}) =>
  spawnSync(program, args, { ...options, env: createProgramEnvironment(env), encoding: 'utf8' });

/** Starts a program, with its output in pipes and no input. */
export const startProgram = (
  program: string,
  args: readonly string[],
  { env, ...options }: ProgramOptions & { detached?: boolean } = {},
) => spawn(program, args, { ...options, env: createProgramEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });

/** Starts a program of Node with a channel for messages. */
export const forkProgram = (module: string, env: Variables): ChildProcess =>
  fork(module, { execArgv: [], silent: true, env: createProgramEnvironment(env) });
