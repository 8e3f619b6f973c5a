import { setTimeout as delay } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore } from 'firebase-admin/firestore';
import { configureClient, Database } from '../../functions/src/lib/firestore/database';
import { createWorkContext } from '../../functions/src/lib/work-context';
import { createProgram, type Act } from './arguments';
import { assertReachable } from './connection';
import { describeError, OutputError } from './errors';
import { describeTarget, resolveTarget, useTarget, type TargetOptions } from './target';
import { Terminal, type Streams } from './terminal';

/**
 * Runs one command.
 *
 * @param getSignal returns the signal that aborts the command; called just before the command begins
 * @returns exit code: 0 success, 1 failure or a violation that the audit found, 2 wrong arguments
 */
export async function runPriceLists(args: string[], streams: Streams, getSignal: () => AbortSignal): Promise<number> {
  const terminal = new Terminal(streams);
  // Each command replaces this code. If none runs, the parser throws.
  let exitCode = 2;
  const program = createProgram(terminal, async (run) => {
    exitCode = await runInProject(run, program.opts<TargetOptions>(), terminal, getSignal());
  });
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof OutputError)) terminal.printError(`${describeError(error)}\n`);
    return 1;
  }
}

async function runInProject(
  run: Parameters<Act>[0],
  targetOptions: TargetOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const target = resolveTarget(targetOptions);
  useTarget(target);
  terminal.printError(`${describeTarget(target)}\n\n`);
  const app = initializeApp({ projectId: target.project }, crypto.randomUUID());
  const firestore = configureClient(getFirestore(app, target.database));
  const workContext = createWorkContext(signal);
  const db = new Database(firestore, workContext);
  try {
    await assertReachable(target, db, workContext);
    return await run({ terminal, db, workContext, targetOptions });
  } finally {
    // Termination can wait for abandoned calls, so the command waits at most a second for it.
    await Promise.race([firestore.terminate(), delay(1_000)]);
  }
}
