import { execFile, spawn, spawnSync } from 'node:child_process';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Starts programs for tests, the benchmark and `release:check`. A program must not inherit a person's environment: variables of Git,
 * Google's tools, Node or a shell would redirect it to a repository, a project, a program or a server of that person.
 */

/** Environment variables by name. The value undefined removes a variable. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The variables that a program needs from the machine. It inherits no others. */
const INHERITED = [
  /^(PATH|HOME|TMPDIR|TEMP|TMP)$/i,
  /^(SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAM(DATA|FILES.*))$/i,
  // Variables of version managers, whose shims for Python or npm are on the PATH.
  /^(ASDF|FNM|MISE|NVM|PYENV|VOLTA)_/,
  // Programs need these to install packages. Requests to this machine bypass the proxy because of `no_proxy` below.
  /^(NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i,
  /^npm_config_(registry|cache|userconfig|globalconfig|cafile|proxy|https_proxy|noproxy)$/i,
];

/** A folder with empty settings, which replace those in the home folder. */
const NO_SETTINGS = join(__dirname, 'no-settings');

const OWN = {
  CURL_HOME: NO_SETTINGS,
  CLOUDSDK_CONFIG: NO_SETTINGS,
  GIT_CONFIG_GLOBAL: devNull,
  GIT_CONFIG_SYSTEM: devNull,
  NETRC: devNull,
};

/**
 * Returns the environment of a program: what it inherits from this process, empty settings of Git, curl and gcloud, a
 * `no_proxy` that names this machine, and `variables`.
 */
export function createProgramEnvironment(variables: Variables = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => INHERITED.some((pattern) => pattern.test(name)));
  const others = (process.env['no_proxy'] ?? process.env['NO_PROXY'] ?? '').split(',').filter(Boolean);
  const no_proxy = [...new Set(['127.0.0.1', 'localhost', ...others])].join(',');
  return { ...Object.fromEntries(inherited), ...OWN, no_proxy, NO_PROXY: no_proxy, ...variables };
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
