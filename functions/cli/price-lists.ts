import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../src/lib/clock';
import { createDatabase } from '../src/lib/firestore/database';
import { createCallContext } from '../src/lib/call-context';
import { LEASE_DURATION_MS } from '../src/lib/runtime-options';
import { StoppedError, type WorkflowContext } from '../src/price-lists/workflow-context';
import { HELP, parseCommand, UsageError, type Options } from './arguments';
import { runCommand } from './commands';
import { CLI_TIMEOUTS_MS, createClient } from './stored-records';
import { CommandError, print, printError } from './terminal';

/** `npm run price-lists`: what an operator sees and does of the keys of add price lists; see docs/runbook.md. */

/** Runs one command. @returns exit code: 0 success, 1 failure, 2 usage error */
async function main(args: string[]): Promise<number> {
  try {
    const { command, keys, values } = parseCommand(args);
    if (command === undefined) {
      print(HELP);
      return 0;
    }
    const target = resolveTarget(values);
    const firestore = createClient(target.project);
    const signal = abortOnSignals();
    const context: WorkflowContext = {
      db: createDatabase(firestore, createCallContext(signal), CLI_TIMEOUTS_MS),
      clock: systemClock,
      random: Math.random,
      newToken: randomUUID,
      signal,
      leaseMs: LEASE_DURATION_MS,
      requestId: null,
      log: { claimed: noop, completed: noop, failed: noop, superseded: noop },
    };
    process.stderr.write(`${target.name}\n\n`);
    try {
      return await runCommand(command, keys, values, context);
    } finally {
      // Calls that were given up would keep the client open until their timeouts.
      await Promise.race([firestore.terminate(), delay(1_000)]);
    }
  } catch (error) {
    if (error instanceof UsageError) return printError(`${error.message}\n\n${HELP}`, 2);
    if (error instanceof CommandError) return printError(`${error.message}\n`, 1);
    return printError(`Failed: ${error instanceof Error ? error.message : String(error)}\n`, 1);
  }
}

/**
 * Aborts at the first signal that ends a command, also that of a lost terminal, so that an attempt that was taken over
 * is given back at once. The second signal ends the process.
 */
function abortOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () =>
      stop.abort(new StoppedError(`stopped by ${name}; what was written stays, and a resume continues from there`)),
    );
  }
  return stop.signal;
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

const noop = (): void => undefined;

void main(process.argv.slice(2)).then((code) => {
  // Streams that were given up keep the process alive; output to a pipe is written out first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
