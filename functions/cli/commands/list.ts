import { retry } from '../../src/lib/firestore/retry';
import { readKeysByStatus, readPages, UNRESOLVED_STATUSES, type CompletionFilter } from '../../records/stored-records';
import { KEYS_PER_PAGE, type FoundKey } from '../../src/lib/repositories/price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { describeUnreadable } from '../errors';
import { isLeaseHeld } from '../../src/price-lists/key-state-machine';
import { needsOperator, summarizeKey } from '../facts';
import { formatCommand, formatInProgress, formatKeys, formatRest } from '../format';
import { toJson, type CommandContext } from './context';

export interface ListOptions {
  status?: KeyRecord['status'][];
  withoutLists?: true;
  otherCurrency?: true;
  /** How many keys the text shows. JSON shows all. */
  limit: number;
  json?: true;
}

const WITHOUT_LISTS: CompletionFilter = { field: 'lists', value: null };
const OTHER_CURRENCY: CompletionFilter = { field: 'lists.currency_differs', value: true };

export async function list(
  { status: given, withoutLists, otherCurrency, limit, json }: ListOptions,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  const outcome = withoutLists ? WITHOUT_LISTS : otherCurrency ? OTHER_CURRENCY : undefined;
  const status = outcome === undefined ? given : (['completed'] as const);
  const { keys, unreadable } = await readKeys(status ?? UNRESOLVED_STATUSES, context, outcome);
  const now = keys.reduce((latest, { readAt }) => Math.max(latest, readAt), 0);
  const inProgress = keys.filter(({ record, readAt }) => isLeaseHeld(record, readAt)).map(({ record }) => record);
  const selected = keys
    .map(({ record }) => record)
    .filter((record) => status !== undefined || !inProgress.includes(record))
    .sort((a, b) => a.updated_at - b.updated_at);
  const summaries = selected.map(summarizeKey);

  const isDefault = status === undefined;
  const note = formatInProgress(inProgress);
  if (json === true) {
    terminal.print(toJson(summaries));
    terminal.printError(note);
  } else {
    terminal.print(formatKeys(summaries, limit, isDefault, now));
    if (summaries.length > limit) {
      const status = given === undefined ? '' : ` --status ${given.join(' ')}`;
      const filter = withoutLists ? ' --without-lists' : otherCurrency ? ' --other-currency' : status;
      terminal.print(`\n${formatRest(summaries.length, limit, filter, context.targetOptions)}`);
    }
    if (isDefault) terminal.print(`${summaries.length > 0 ? '\n' : ''}${note}`);
    const first = summaries.find(needsOperator) ?? summaries[0];
    if (first !== undefined)
      terminal.print(`\nNext: ${formatCommand('show', first.boq_list_id, context.targetOptions)}\n`);
  }
  for (const path of unreadable) terminal.printError(`${describeUnreadable(path)}\n`);
  return 0;
}

type ReadableKey = Extract<FoundKey, { kind: 'readable' }>;

/** Reads the keys with one of these statuses. @returns also the paths of the records that do not parse */
export async function readKeys(
  statuses: readonly KeyRecord['status'][],
  context: CommandContext,
  outcome?: CompletionFilter,
): Promise<{ keys: ReadableKey[]; unreadable: string[] }> {
  const { db, workContext } = context;
  const keys: FoundKey[] = [];
  const read = (after: FoundKey | undefined) =>
    retry(() => readKeysByStatus(db, statuses, after, outcome), workContext, 'outage');
  for await (const page of readPages(read, KEYS_PER_PAGE)) keys.push(...page);
  const unreadable = keys.filter(({ kind }) => kind === 'unreadable').map(({ reference }) => reference.path);
  return { keys: keys.filter((key) => key.kind === 'readable'), unreadable };
}
