import { forEachConcurrently } from '../../audit/concurrency';
import { retry } from '../../src/lib/firestore/retry';
import { readKeyRecords, readListStatuses } from '../../audit/stored-records';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { describeUnreadable } from '../errors';
import { isLeaseHeld } from '../../src/price-lists/key-state-machine';
import { readKeySummary, needsOperator, type KeySummary } from '../facts';
import { formatCommand, formatInProgress, formatKeys } from '../format';
import { toJson, type CommandContext } from './context';

export interface ListOptions {
  status?: KeyRecord['status'][];
  /** ms */
  olderThan?: number;
  json?: true;
}

export async function list({ status, olderThan = 0, json }: ListOptions, context: CommandContext): Promise<number> {
  const { terminal, db, requestContext } = context;
  const statuses = status ?? ['processing', 'requires_review'];
  const { records, unreadable } = await retry(() => readKeyRecords(db, statuses), requestContext, 'standalone');
  const now = requestContext.clock.now();
  const inProgress = records.filter((record) => isLeaseHeld(record, now));
  const selected = records
    .filter((record) => now - record.updated_at >= olderThan)
    .filter((record) => status !== undefined || !isLeaseHeld(record, now))
    .sort((a, b) => a.updated_at - b.updated_at);
  const summaries = await readSummaries(selected, context);

  const isDefault = status === undefined;
  const note = formatInProgress(inProgress);
  if (json === true) {
    terminal.print(toJson(summaries));
    terminal.printError(note);
  } else {
    terminal.print(formatKeys(summaries, isDefault, now));
    if (isDefault) terminal.print(`${summaries.length > 0 ? '\n' : ''}${note}`);
    const first = summaries.find(needsOperator) ?? summaries[0];
    if (first !== undefined)
      terminal.print(`\nNext: ${formatCommand('show', first.boq_list_id, context.targetOptions)}\n`);
  }
  for (const path of unreadable) terminal.printError(`${describeUnreadable(path)}\n`);
  return 0;
}

/** Keys whose list documents are read by one call. */
const KEYS_PER_CALL = 100;

/** Counts take some ten milliseconds each, most of which is waiting. */
const CONCURRENT_COUNTS = 40;

/** Fewer are read before anybody wonders. */
const MIN_KEYS_WITH_PROGRESS = 100;

async function readSummaries(
  records: readonly KeyRecord[],
  { terminal, db, requestContext }: CommandContext,
): Promise<KeySummary[]> {
  const summaries = new Map<KeyRecord, KeySummary>();
  for (let start = 0; start < records.length; start += KEYS_PER_CALL) {
    const some = records.slice(start, start + KEYS_PER_CALL);
    const creations = some.flatMap(({ creation }) => creation ?? []);
    const statuses = await retry(() => readListStatuses(db, creations), requestContext, 'standalone');
    await forEachConcurrently(some, CONCURRENT_COUNTS, async (record) => {
      summaries.set(record, await retry(() => readKeySummary(record, statuses, db), requestContext, 'standalone'));
    });
    if (records.length >= MIN_KEYS_WITH_PROGRESS) terminal.drawProgress(summaries.size, records.length, 'keys');
  }
  return records.flatMap((record) => summaries.get(record) ?? []);
}
