import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { startFunctionsServer, type DeployableFunction } from './functions-server';
import { installLogFormat } from './log-format';

/**
 * The thread of one build of the functions, under `npm run dev`. Loads their packages while it waits for a build, so that a
 * saved file is live soon. Serves at a free port until it is told to retire.
 */

export interface ThreadData {
  project: string;
  publicOrigin: string;
  /** Names of the packages to load ahead, and the file from which they are resolved. */
  packages: readonly string[];
  packageRoot: string;
  isTerminal: boolean;
}

export type ThreadCommand = { kind: 'load'; file: string } | { kind: 'retire'; graceMs: number };

export type ThreadReport =
  { kind: 'serving'; origin: string; addresses: ReadonlyMap<string, string> } | { kind: 'failed'; error: string };

const { project, publicOrigin, packages, packageRoot, isTerminal } = workerData as ThreadData;

process.setSourceMapsEnabled(true);
installLogFormat({ isTerminal, getTime: () => new Date() });
const require = createRequire(packageRoot);
for (const name of packages) require(name);

let retire: (graceMs: number) => Promise<void> = () => Promise.resolve();

parentPort?.on('message', (command: ThreadCommand) => {
  switch (command.kind) {
    case 'load':
      load(command.file).then(report, (error: unknown) => report({ kind: 'failed', error: describeError(error) }));
      break;
    case 'retire':
      void retire(command.graceMs).then(() => process.exit());
  }
});

const report = (message: ThreadReport) => parentPort?.postMessage(message);

async function load(file: string): Promise<ThreadReport> {
  const functions = require(file) as Record<string, DeployableFunction>;
  const server = await startFunctionsServer({ port: 0, project, functions, publicOrigin });
  retire = (graceMs) => server.close(graceMs);
  return { kind: 'serving', origin: server.origin, addresses: server.addresses };
}

/** An error in a setting needs no stack. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'ConfigError' ? error.message : (error.stack ?? error.message);
}
