import { sweep, type SweepResult } from '../../src/price-lists/sweep';
import type { SweepOptions } from '../arguments';
import { describeError, describeUnreadable } from '../errors';
import { count, formatCommand, formatDuration, formatSweepResult } from '../format';
import { toJsonLine, type CommandContext } from './context';

const CONCURRENT_RESUMES = 4;

/** Without `--watch`, while resumes are under way. */
const SCAN_INTERVAL_MS = 10_000;

export async function sweepKeys(options: SweepOptions, context: CommandContext): Promise<number> {
  const { terminal, db, requestContext } = context;
  const { watch, dryRun = false, maxAttempts, json } = options;
  const print = (line: { time: number } & SweepResult) =>
    terminal.print(json === true ? toJsonLine(line) : formatSweepResult(line));
  // A watch reports each key once; a single sweep would report all that are left to an operator every time.
  const isLeftCounted = watch === undefined && options.left !== true;
  let left = 0;
  let printed = 0;
  if (watch !== undefined)
    terminal.printError(`Watching: scans every ${formatDuration(watch)}, and when a lease expires. Ctrl-C stops it.\n`);
  await sweep(
    db,
    requestContext,
    {
      maxResumes: maxAttempts,
      dryRun,
      concurrency: CONCURRENT_RESUMES,
      mode: watch === undefined ? 'until_idle' : 'watch',
      scanIntervalMs: watch ?? SCAN_INTERVAL_MS,
    },
    {
      onResult: (result) => {
        if (result.result === 'left') left += 1;
        if (result.result === 'left' && isLeftCounted) return;
        printed += 1;
        print({ time: requestContext.clock.now(), ...result });
      },
      onUnreadable: (path) => terminal.printError(`${describeUnreadable(path)}\n`),
      onScanFailed: (error) => terminal.printError(`${describeError(error)}\n`),
    },
  );
  if (watch === undefined) printEnd({ left: isLeftCounted ? left : 0, isIdle: printed === 0 }, options, context);
  return 0;
}

/** Tells what a single sweep has not printed line by line. */
function printEnd(
  { left, isIdle }: { left: number; isIdle: boolean },
  { json }: SweepOptions,
  { terminal, requestContext, project }: CommandContext,
): void {
  if (isIdle) terminal.printError('Nothing to do: no attempt is due.\n');
  if (left === 0) return;
  if (json === true) {
    const counted = { boq_list_id: null, document_id: null, result: 'left', reason: null, keys: left };
    terminal.print(toJsonLine({ time: requestContext.clock.now(), ...counted }));
    return;
  }
  terminal.print(
    `${count(left, 'key')} ${left === 1 ? 'is' : 'are'} left to an operator: ${formatCommand('list', undefined, project)}, ` +
      'or sweep --left with the reasons\n',
  );
}
