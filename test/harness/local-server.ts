import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { PROJECT } from '../../dev/server/local-config';
import { REGION } from '../../functions/src/lib/region';
import { DEPLOY_PACKAGE } from '../../dev/run/deployed';
import { startProgram, type Variables } from '../../dev/run/programs';

/** Runs the program of `npm start` or `npm run dev`, and gives tests its process, output and addresses. */

export { PROJECT };

export interface ProcessExit {
  pid: number;
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface LocalServer {
  /** The server's output when it is ready, including the line that begins with `Ready`. */
  printed: string;
  /** The address of an operation, below the printed origin. */
  address(operation: string): string;
  firestoreAddress: string;
  output: Readonly<{ stdout: string; stderr: string }>;
  pid: number;
  /** Sends a signal to the server's process group. */
  kill(signal: NodeJS.Signals): void;
  ended: Promise<ProcessExit>;
  /** Stops the server as Ctrl-C does. */
  stop(): Promise<ProcessExit>;
}

/** The running processes. {@link cleanUp} ends them, so that a failed test leaves none behind. */
const running = new Set<ChildProcess>();
const folders: string[] = [];

/** Creates a folder that {@link cleanUp} removes. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'price-lists-'));
  folders.push(folder);
  return folder;
}

/** Ends the processes that are still running, and removes the folders. Call this function in `afterAll`. */
export async function cleanUp(): Promise<void> {
  for (const child of running) {
    const closed = once(child, 'close');
    killGroup(child, 'SIGKILL');
    await closed;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** The default variables of a server: free ports, and data in memory. A test can override them. */
const DEFAULTS: Variables = {
  FUNCTIONS_PORT: '0',
  FIRESTORE_PORT: '0',
  DATA_DIR: ':memory:',
};

/** The command of `npm start`, without the build, for the copy of the package that deploy-package.cjs makes. */
const NPM_START = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--import',
  'tsx',
  'dev/server/start.ts',
  '--package',
  DEPLOY_PACKAGE,
];

/** The command of `npm run dev`, without the check of the Node version. */
export const NPM_RUN_DEV = [process.execPath, '--import', 'tsx', 'dev/server/dev.ts'];

/**
 * Starts a local server and waits until it is ready.
 *
 * @param folder the checkout in which the server starts; by default this checkout
 * @throws Error with the output if the server ends before it is ready
 */
export async function startLocalServer(env: Variables, command = NPM_START, folder = '.'): Promise<LocalServer> {
  const { child, output, ended } = run(env, command, folder);
  const isReady = () => /^Ready.*\n/m.test(output.stdout);
  while (!isReady()) {
    const gone = await Promise.race([once(child.stdout, 'data').then(() => undefined), ended]);
    if (gone !== undefined)
      throw new Error(
        `the server ended with the exit code or signal ${gone.code ?? gone.signal ?? ''}:\n${gone.stdout}${gone.stderr}`,
      );
  }
  const printed = output.stdout;
  const firestoreAddress = /^ *Firestore +([^,\s]+)/m.exec(printed)?.[1] ?? '';
  const origin = /Functions +(\S+)/.exec(printed)?.[1] ?? '';
  const kill = (signal: NodeJS.Signals) => killGroup(child, signal);
  return {
    printed,
    address: (operation) => `${origin}/${PROJECT}/${REGION}/${operation}`,
    firestoreAddress,
    output,
    pid: child.pid ?? 0,
    kill,
    ended,
    stop: () => {
      kill('SIGINT');
      return ended;
    },
  };
}

export const startExpectingFailure = (env: Variables): Promise<ProcessExit> => run(env, NPM_START, '.').ended;

function run(env: Variables, [program = '', ...args]: string[], cwd: string) {
  const child = startProgram(program, args, { cwd, env: { ...DEFAULTS, ...env }, detached: true });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = once(child, 'close').then(([code, signal]): ProcessExit => {
    running.delete(child);
    return { pid: child.pid ?? 0, code: code as number | null, signal: signal as NodeJS.Signals | null, ...output };
  });
  return { child, output, ended };
}

/** Returns whether any process still runs in the group that the process `pid` leads. */
export function isGroupRunning(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

const killGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals) => pid !== undefined && process.kill(-pid, signal);

export function createFirestoreClient(address: string): Firestore {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  return new Firestore({ projectId: PROJECT });
}

export async function call(address: string, init: RequestInit = {}) {
  const response = await fetch(address, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}
