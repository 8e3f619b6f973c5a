import { sweep, type SweepResult } from '../../src/price-lists/sweep';
import { describeUnreadable } from '../errors';
import { formatSweepResult } from '../format';
import { toJsonLine, type CommandContext } from './context';

const CONCURRENT_RESUMES = 4;

export interface SweepCommandOptions {
  dryRun?: boolean;
  json?: true;
}

export async function sweepKeys(
  { dryRun = false, json }: SweepCommandOptions,
  { terminal, db, workContext }: CommandContext,
): Promise<number> {
  let printed = 0;
  const print = (line: SweepResult) => {
    printed += 1;
    terminal.print(json === true ? toJsonLine(line) : formatSweepResult(line));
  };
  await sweep(
    db,
    workContext,
    { dryRun, concurrency: CONCURRENT_RESUMES },
    {
      onResult: print,
      onUnreadable: (path) => terminal.printError(`${describeUnreadable(path)}\n`),
    },
  );
  const isStopped = workContext.signal.aborted;
  if (printed === 0) {
    terminal.printError(isStopped ? 'Stopped before any key was swept.\n' : 'Nothing to do: no attempt is due.\n');
  }
  return isStopped ? 1 : 0;
}
