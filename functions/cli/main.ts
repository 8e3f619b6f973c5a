import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createRequestContext } from '../src/lib/request-context';
import { createDatabase } from '../src/lib/firestore/database';
import { ResolutionError } from '../src/price-lists/resolution-error';
import { CLI_TIMEOUTS_MS, createClient } from './client';
import { HELP, parseCommand, UsageError, type Options } from './arguments';
import { runCommand, type CommandContext } from './commands';
import { CommandError, describeError, Terminal, type Streams } from './terminal';

/**
 * Runs one command of an operator.
 *
 * @param getSignal aborts a command that is about to begin
 * @returns exit code: 0 success, 1 failure, 2 usage error
 */
export async function runPriceLists(args: string[], streams: Streams, getSignal: () => AbortSignal): Promise<number> {
  const terminal = new Terminal(streams);
  try {
    const { command, keys, values } = parseCommand(args);
    if (command === undefined) {
      terminal.print(HELP);
      return 0;
    }
    const target = resolveTarget(values);
    const firestore = createClient(target.project);
    const call = createRequestContext(getSignal());
    const context: CommandContext = { terminal, db: createDatabase(firestore, call, CLI_TIMEOUTS_MS), call };
    streams.stderr.write(`${target.name}\n\n`);
    try {
      return await runCommand(command, keys, values, context);
    } finally {
      // Calls that were given up would keep the client open until their timeouts.
      await Promise.race([firestore.terminate(), delay(1_000)]);
    }
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.printError(`${error.message}\n\n${HELP}`);
      return 2;
    }
    terminal.printError(
      `${error instanceof CommandError || error instanceof ResolutionError ? '' : 'Failed: '}${describeError(error)}\n`,
    );
    return 1;
  }
}

/** Where the database is: a project whose id begins with `demo-` is a local one, by Firebase's convention. */
function resolveTarget({ project: given }: Options): { project: string; name: string } {
  const project = given ?? process.env['GOOGLE_CLOUD_PROJECT'] ?? process.env['GCLOUD_PROJECT'] ?? defaultProject();
  if (project.startsWith('demo-')) process.env['FIRESTORE_EMULATOR_HOST'] ??= '127.0.0.1:8080';
  // The connection for entries reads it (functions/src/lib/firestore).
  process.env['GOOGLE_CLOUD_PROJECT'] = project;
  const address = process.env['FIRESTORE_EMULATOR_HOST'];
  // Without this, Google's libraries look for a metadata server.
  if (address !== undefined) process.env['METADATA_SERVER_DETECTION'] = 'none';
  return { project, name: `Project ${project}, ${address === undefined ? 'in production' : `at ${address}`}` };
}

function defaultProject(): string {
  const { projects } = JSON.parse(readFileSync('.firebaserc', 'utf8')) as { projects: { default: string } };
  return projects.default;
}
