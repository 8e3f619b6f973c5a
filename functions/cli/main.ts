import { setTimeout as delay } from 'node:timers/promises';
import { createRequestContext } from '../src/lib/request-context';
import { createDatabase } from '../src/lib/firestore/database';
import { findNodeProblem } from '../src/lib/node-version';
import { parseArguments, type ParsedCommand } from './arguments';
import { CLI_TIMEOUTS_MS, createClient } from './client';
import { runCommand } from './commands';
import { assertReachable } from './connection';
import { CommandError, describeError, isDescribed } from './errors';
import { describeTarget, resolveTarget, useTarget } from './target';
import { Terminal, type Streams } from './terminal';

/**
 * Runs one command of an operator.
 *
 * @param getSignal aborts a command that is about to begin
 * @param environment in which npm leaves the options that it took for itself
 * @returns exit code: 0 success, 1 failure, 2 usage error
 */
export async function runPriceLists(
  args: string[],
  streams: Streams,
  getSignal: () => AbortSignal,
  environment: NodeJS.ProcessEnv = {},
): Promise<number> {
  const terminal = new Terminal(streams);
  const output = {
    print: (text: string) => terminal.print(text),
    printError: (text: string) => terminal.printError(text),
  };
  const parsed = parseArguments(args, output, environment);
  if (parsed.kind === 'ended') return parsed.exitCode;
  try {
    return await runInProject(parsed.command, parsed.project, terminal, getSignal());
  } catch (error) {
    terminal.printError(`${isDescribed(error) ? '' : 'Failed: '}${describeError(error)}\n`);
    return 1;
  }
}

async function runInProject(
  command: ParsedCommand,
  project: string | undefined,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const problem = findNodeProblem();
  if (problem !== undefined) throw new CommandError(problem);
  const target = resolveTarget(project);
  useTarget(target);
  terminal.printError(`${describeTarget(target)}\n\n`);
  const firestore = createClient(target.project);
  const requestContext = createRequestContext(signal);
  const db = createDatabase(firestore, requestContext, CLI_TIMEOUTS_MS);
  try {
    await assertReachable(target, db, requestContext);
    return await runCommand(command, { terminal, db, requestContext, project });
  } finally {
    // Calls that were given up would keep the client open until their timeouts.
    await Promise.race([firestore.terminate(), delay(1_000)]);
  }
}
