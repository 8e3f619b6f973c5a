import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import firebase from '../../../firebase.json';

/** What `npm run build` makes: the folder that a deployment uploads. */
export const DEPLOY_PACKAGE = 'functions/dist';

export const PROJECT = 'demo-price-lists';

/** The files that a deployment uploads, without what firebase.json excludes. */
export async function listUploadedFiles(): Promise<string[]> {
  const excluded = new Set(firebase.functions.flatMap(({ ignore }) => ignore));
  return (await readdir(DEPLOY_PACKAGE)).filter((file) => !excluded.has(file)).sort();
}

/** Copies the deploy package into an empty folder and installs it as production does; returns the folder. */
export async function installDeployPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deployed-'));
  for (const file of await listUploadedFiles()) await cp(join(DEPLOY_PACKAGE, file), join(folder, file));
  await promisify(execFile)('npm', ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
  });
  return folder;
}

/** Lets a process tell what memory it holds, and start from compiled code, as in production. */
export const MEMORY_PROBE_ENV = {
  NODE_COMPILE_CACHE: resolve('functions/.dev/compile-cache'),
  NODE_OPTIONS: `--import=${pathToFileURL(resolve('functions/test/fuzz/memory.mjs')).href}`,
};

/** A function's process, as it runs in production. */
export interface DeployedFunction {
  port: number;
  pid: number;
  /** Everything that the process has written, a line each: what Cloud Logging would keep. */
  output: string[];
  /** Whether the process still runs. */
  alive: () => boolean;
  /** The service's own lines of the output about requests, once there are so many: a line may come after its response. */
  requestLines: (count: number) => Promise<Record<string, unknown>[]>;
  /** The bytes that the process holds once it has collected its garbage; only with {@link MEMORY_PROBE_ENV} in its environment. */
  readHeapBytes: () => Promise<number>;
  /** The resident set in bytes after garbage collection, and its peak before; only with {@link MEMORY_PROBE_ENV} too. */
  readRss: () => Promise<{ rss: number; peakRss: number }>;
  /** Ends the process with the signal that the platform sends; resolves with its exit code, null if it had to be killed. */
  stop: () => Promise<number | null>;
}

/**
 * Serves one function of a deploy package under the Functions Framework, as production does: a process of its own, the target
 * named on the command line, secrets and settings in the environment, and nothing else of this machine's environment.
 *
 * @param givenPort a port on which nothing listens; by default any that is free
 */
export async function startDeployedFunction(
  folder: string,
  target: string,
  env: Record<string, string>,
  givenPort?: number,
): Promise<DeployedFunction> {
  const framework = createRequire(resolve(folder, 'package.json')).resolve('@google-cloud/functions-framework');
  const port = givenPort ?? (await freePort());
  const child = spawn(process.execPath, [join(dirname(framework), 'main.js'), `--target=${target}`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      PORT: String(port),
      K_SERVICE: target.toLowerCase(),
      FUNCTION_TARGET: target,
      FUNCTION_SIGNATURE_TYPE: 'http',
      GCLOUD_PROJECT: PROJECT,
      FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
      ...env,
    },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => output.push(line));
  }
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const alive = () => child.exitCode === null && child.signalCode === null;

  for (let tries = 0; !(await listens(port)); tries += 1) {
    if (!alive() || tries > 500) throw new Error(`${target} does not listen:\n${output.join('\n')}`);
    await delay(20);
  }
  const { pid = 0 } = child;
  const probeMemory = async () => {
    const said = output.length;
    child.kill('SIGUSR2');
    for (;;) {
      const line = output.slice(said).find((each) => each.startsWith('{"memory"'));
      if (line !== undefined) return JSON.parse(line) as { memory: number; rss: number; peakRss: number };
      if (!alive()) throw new Error(`${target} has died:\n${output.slice(-20).join('\n')}`);
      await delay(20);
    }
  };
  return {
    port,
    pid,
    output,
    alive,
    requestLines: async (count) => {
      for (let tries = 0; ; tries += 1) {
        const lines = output.filter((line) => line.includes('"event":"request"'));
        if (lines.length >= count || tries === 250)
          return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
        await delay(20);
      }
    },
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

/** A port that is free now. The framework takes one by number only, and does not tell one that it was given by the system. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function listens(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
