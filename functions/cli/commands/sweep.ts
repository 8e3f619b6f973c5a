import { readDueKeys, type KeySnapshot } from '../../src/lib/repositories/keys';
import { retry } from '../../src/lib/firestore/retry';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { settleLease } from '../../src/price-lists/key';
import { canResumeAutomatically, describeSweepObstacle, getSweepDueAt } from '../../src/price-lists/schedule';
import { sweep } from '../../src/price-lists/sweep';
import { describeUnreadable } from '../errors';
import { formatSweepLine, type SweepLine } from '../format';
import { toJsonLine, type CommandContext } from './context';

export interface SweepCommandOptions {
  dryRun?: boolean;
  json?: true;
}

export async function sweepKeys({ dryRun, json }: SweepCommandOptions, context: CommandContext): Promise<number> {
  const { terminal, db, workContext } = context;
  const { signal } = workContext;
  let found = 0;
  // A line that cannot be written rejects, so the key stays due.
  const print = ({ time, result, reason }: Omit<SweepLine, 'boq_list_id'>, { boq_list_id }: KeyRecord) => {
    found += 1;
    const line: SweepLine = { time, boq_list_id, result, reason };
    return terminal.write(json === true ? toJsonLine(line) : formatSweepLine(line), signal);
  };
  const onUnreadable = (path: string) => terminal.writeError(`${describeUnreadable(path)}\n`, signal);
  if (dryRun === true) {
    for (const key of await readAllDueKeys(context)) {
      if (key.record === 'unreadable') await onUnreadable(key.reference.path);
      else if (key.record !== undefined) await previewKey(key.record, key.readAt, print);
    }
  } else await sweep(db, workContext, { onResult: print, onUnreadable });
  if (found === 0)
    terminal.printError(signal.aborted ? 'Stopped before any key was swept.\n' : 'Nothing to do: no attempt is due.\n');
  return signal.aborted ? 1 : 0;
}

async function readAllDueKeys({ db, workContext }: CommandContext): Promise<KeySnapshot[]> {
  for (let limit = 100; ; limit *= 10) {
    const due = await retry(() => readDueKeys(db, limit), workContext, 'outage');
    if (due.length < limit) return due;
  }
}

/** Prints what the sweep would do with a due key. It ignores one whose record has another due time. */
async function previewKey(
  record: KeyRecord,
  time: number,
  print: (line: Omit<SweepLine, 'boq_list_id'>, record: KeyRecord) => Promise<void>,
): Promise<void> {
  if ((getSweepDueAt(record) ?? Infinity) > time) return;
  const settled = settleLease(record, time);
  if (canResumeAutomatically(settled)) await print({ time, result: 'would_resume', reason: settled.failure }, record);
  else await print({ time, result: 'left', reason: describeSweepObstacle(settled) }, record);
}
