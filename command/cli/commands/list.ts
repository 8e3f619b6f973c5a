import type { Query } from 'firebase-admin/firestore';
import { isReadable, selectKeys, UNRESOLVED_STATUSES, type ReadableKey } from '../../records/find';
import { readPages } from '../../records/pages';
import { toKeySnapshot, type KeySnapshot } from '../../../functions/src/lib/repositories/keys';
import type { KeyStatus } from '../../../functions/src/lib/schemas/key-record';
import { isLeaseHeld } from '../../../functions/src/price-lists/key';
import { describeUnreadable } from '../errors';
import { needsOperator, summarizeKey } from '../facts';
import { formatCommand, formatInProgress, formatKeys, formatRest } from '../format';
import { toJson, type CommandContext } from './context';

export interface ListOptions {
  status?: KeyStatus[];
  /** How many keys the text shows. JSON shows all. */
  limit: number;
  json?: true;
}

export async function list({ status, limit, json }: ListOptions, context: CommandContext): Promise<number> {
  const { terminal, db } = context;
  const { keys, unreadable } = await readKeys(selectKeys(db, status ?? UNRESOLVED_STATUSES), context);
  const now = keys.reduce((latest, { readAt }) => Math.max(latest, readAt), 0);
  const inProgress = keys.filter(({ record, readAt }) => isLeaseHeld(record, readAt));
  const summaries = keys
    .filter((key) => status !== undefined || !inProgress.includes(key))
    .map(summarizeKey)
    .sort((a, b) => a.since - b.since);

  const isDefault = status === undefined;
  const note = formatInProgress(inProgress.map(({ record }) => record));
  if (json === true) {
    terminal.print(toJson(summaries));
    if (isDefault) terminal.printError(note);
  } else {
    terminal.print(formatKeys(summaries, limit, isDefault, now));
    if (summaries.length > limit) terminal.print(`\n${formatRest(summaries, limit, isDefault, context.targetOptions)}`);
    if (isDefault) terminal.print(`${summaries.length > 0 ? '\n' : ''}${note}`);
    const first = summaries.find(needsOperator) ?? summaries[0];
    if (first !== undefined)
      terminal.print(`\nNext: ${formatCommand('show', first.boq_list_id, context.targetOptions)}\n`);
  }
  for (const path of unreadable) terminal.printError(`${describeUnreadable(path)}\n`);
  return 0;
}

/** Reads the keys of a query. @returns the readable keys, and the paths of unreadable records */
export async function readKeys(
  query: Query,
  { db, workContext }: CommandContext,
): Promise<{ keys: ReadableKey[]; unreadable: string[] }> {
  const keys: KeySnapshot[] = [];
  for await (const page of readPages(db, workContext, query.orderBy('__name__'))) keys.push(...page.map(toKeySnapshot));
  const unreadable = keys.filter(({ record }) => record === 'unreadable').map(({ reference }) => reference.path);
  return { keys: keys.filter(isReadable), unreadable };
}
