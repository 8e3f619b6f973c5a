import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import firebase from '../../firebase.json';
import { runProgram } from './programs';
import { REGION } from '../../functions/src/lib/region';

/** The output of `npm run build`, which a deployment uploads. */
export const BUILT_PACKAGE = 'functions/dist';

/** The copy that test/jest/deploy-package.cjs made, if any, because another program may rebuild the package during the tests. */
export const DEPLOY_PACKAGE = process.env['DEPLOY_PACKAGE'] ?? BUILT_PACKAGE;

export const PROJECT = 'demo-price-lists';

/** Lists the files that a deployment uploads. firebase.json excludes the others. */
export async function listUploadedFiles(): Promise<string[]> {
  const excluded = new Set(firebase.functions.flatMap(({ ignore }) => ignore));
  return (await readdir(DEPLOY_PACKAGE)).filter((file) => !excluded.has(file)).sort();
}

/** Returns the variables that Cloud Run and the image of Google's buildpacks set. Port 0 selects a free port. */
const getPlatformVariables = (target: string) => ({
  NODE_ENV: 'production',
  PORT: '0',
  K_SERVICE: target.toLowerCase(),
  K_REVISION: `${target.toLowerCase()}-00001-abc`,
  K_CONFIGURATION: target.toLowerCase(),
  FUNCTION_SIGNATURE_TYPE: 'http',
});

/**
 * Returns the variables that firebase-tools 15.34.2 sets on a function, besides parameters and secrets
 * (lib/gcp/cloudfunctionsv2.js, lib/deploy/functions/prepare.js).
 */
const getDeploymentVariables = (target: string) => ({
  FUNCTION_TARGET: target,
  FUNCTION_REGION: REGION,
  LOG_EXECUTION_ID: 'true',
  GCLOUD_PROJECT: PROJECT,
  FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
  EVENTARC_CLOUD_EVENT_SOURCE: `projects/${PROJECT}/locations/${REGION}/services/${target}`,
});

/**
 * The variables of npm in Google's build. The buildpack for Node sets NODE_ENV. firebase-tools 15.34.2 sets
 * GOOGLE_NODE_RUN_SCRIPTS, so that npm runs no script `gcp-build`.
 */
const BUILD_VARIABLES = { NODE_ENV: 'production', GOOGLE_NODE_RUN_SCRIPTS: '' };

/** Installs the deploy package in an empty folder, as production does. @returns the folder */
export async function installDeployPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deployed-'));
  for (const file of await listUploadedFiles()) await cp(join(DEPLOY_PACKAGE, file), join(folder, file));
  await runProgram('npm', ['ci', '--quiet', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
    env: BUILD_VARIABLES,
  });
  return folder;
}

/** Makes a process report its memory on SIGUSR2. */
export const MEMORY_PROBE_ENV = {
  NODE_OPTIONS: `--import=${pathToFileURL(resolve('dev/run/preload/memory.mjs')).href}`,
};

/** Makes the framework, which listens on port 0, report its port. */
const LISTENING = pathToFileURL(resolve('dev/run/preload/listening.mjs')).href;

/** A function's process, as it runs in production. */
export interface DeployedFunction {
  port: number;
  pid: number;
  /** All lines that the process has written, which Cloud Logging would store. */
  output: string[];
  alive: () => boolean;
  /** Reads the sum of the used heap and the external memory, in bytes, after garbage collection; needs {@link MEMORY_PROBE_ENV}. */
  readHeapBytes: () => Promise<number>;
  /**
   * Reads the resident set in bytes after garbage collection, and its peak until then. On Linux, the peak counts from the previous
   * reading if there was one, otherwise from the start. Needs {@link MEMORY_PROBE_ENV}.
   */
  readRss: () => Promise<{ rss: number; peakRss: number }>;
  /** Ends the process as the platform does. @returns its exit code; null if a signal ended it */
  stop: () => Promise<number | null>;
}

/**
 * Serves one function of a built program under the Functions Framework, as production does. The
 * process gets its settings in the environment, and inherits only PATH from this machine's environment.
 */
export async function startDeployedFunction(
  folder: string,
  target: string,
  env: Record<string, string>,
): Promise<DeployedFunction> {
  const framework = createRequire(resolve(folder, 'package.json')).resolve('@google-cloud/functions-framework');
  const args = ['--import', LISTENING, join(dirname(framework), 'main.js'), `--target=${target}`];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      ...getPlatformVariables(target),
      ...getDeploymentVariables(target),
      ...env,
    },
  });
  const output: string[] = [];
  const [, stdout, stderr, ports] = child.stdio as unknown as [null, Readable, Readable, Readable];
  for (const stream of [stdout, stderr]) {
    createInterface({ input: stream }).on('line', (line) => output.push(line));
  }
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const alive = () => child.exitCode === null && child.signalCode === null;

  const [port] = await Promise.race([once(ports, 'data').then(([text]) => [Number(text)]), exited.then(() => [])]);
  if (port === undefined) throw new Error(`${target} ended before it listened:\n${output.join('\n')}`);
  const { pid = 0 } = child;
  const probeMemory = async () => {
    const said = output.length;
    child.kill('SIGUSR2');
    for (;;) {
      const line = output.slice(said).find((each) => each.startsWith('{"memory"'));
      if (line !== undefined) return JSON.parse(line) as { memory: number; rss: number; peakRss: number };
      if (!alive()) throw new Error(`${target} ended:\n${output.slice(-20).join('\n')}`);
      await delay(20);
    }
  };
  return {
    port,
    pid,
    output,
    alive,
    readHeapBytes: async () => (await probeMemory()).memory,
    readRss: probeMemory,
    stop: async () => {
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
      const [code] = await exited;
      clearTimeout(kill);
      return code;
    },
  };
}
