import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { settleLease } from '../../../functions/src/price-lists/key';
import { canResumeAutomatically, describeSweepObstacle, isSwept } from '../../../functions/src/price-lists/schedule';
import { readDueKeys, sweep, type SweepResult } from '../../../functions/src/price-lists/sweep';
import { describeUnreadable } from '../errors';
import { formatTime } from '../format';
import { escapeControls, quoteId } from '../text';
import { toJsonLine, type CommandContext } from './context';

export interface SweepCommandOptions {
  dryRun?: boolean;
  json?: true;
}

/** What a sweep did with a key, or would do. */
type PrintedResult = Omit<SweepResult, 'result'> & { result: SweepResult['result'] | 'would_resume' };

export async function sweepKeys({ dryRun, json }: SweepCommandOptions, context: CommandContext): Promise<number> {
  const { terminal, db, workContext } = context;
  const { signal } = workContext;
  let found = 0;
  // Rejects if the line cannot be written. A key that needs an operator then stays due.
  const print = ({ time, result, reason }: PrintedResult, { boq_list_id }: KeyRecord) => {
    found += 1;
    const suffix = reason === null ? '' : `: ${escapeControls(reason)}`;
    const text = `${formatTime(time)}  ${quoteId(boq_list_id)} ${result}${suffix}\n`;
    return terminal.write(json === true ? toJsonLine({ time, boq_list_id, result, reason }) : text, signal);
  };
  const onUnreadable = (path: string) => {
    found += 1;
    return terminal.writeError(`${describeUnreadable(path)}\n`, signal);
  };
  if (dryRun === true) {
    for await (const key of readDueKeys(db)) {
      if (key.record === 'unreadable') await onUnreadable(key.reference.path);
      else if (key.record && isSwept(key.record, key.readAt)) await print(preview(key.record, key.readAt), key.record);
    }
  } else await sweep(db, { onResult: print, onUnreadable });
  if (found === 0)
    terminal.printError(signal.aborted ? 'Stopped before any key was swept.\n' : 'Nothing to do: no key is due.\n');
  return signal.aborted ? 1 : 0;
}

function preview(record: KeyRecord, time: number): PrintedResult {
  const settled = settleLease(record, time);
  return canResumeAutomatically(settled)
    ? { time, result: 'would_resume', reason: settled.failure }
    : { time, result: 'left', reason: describeSweepObstacle(settled) };
}
