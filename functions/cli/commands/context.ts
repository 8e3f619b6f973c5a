import { userInfo } from 'node:os';
import { retry } from '../../src/lib/firestore/retry';
import type { QueryDocumentSnapshot } from 'firebase-admin/firestore';
import type { WorkContext } from '../../src/lib/work-context';
import type { Database } from '../../src/lib/firestore/database';
import {
  findAttemptDocuments,
  findKeyRecords,
  MAX_MATCHES,
  type FoundKeyRecord,
  type IdType,
} from '../../records/stored-records';
import { CommandError } from '../errors';
import { isLeaseHeld } from '../../src/price-lists/key-state-machine';
import { formatId, formatTime } from '../format';
import type { TargetOptions } from '../target';
import type { Terminal } from '../terminal';
import { count, escapeJsonControls, quoteId } from '../text';

export interface CommandContext {
  readonly terminal: Terminal;
  readonly db: Database;
  /** Its signal aborts when the command has to stop. */
  readonly workContext: WorkContext;
  /** The commands that this command prints repeat these options. */
  readonly targetOptions: TargetOptions;
}

export interface IdOptions {
  /** The type of the ids; undefined for any type. */
  idType?: IdType;
}

/** Finds the one key that an id matches. @throws CommandError for no key or several */
export async function findKey(id: string, { idType }: IdOptions, context: CommandContext): Promise<FoundKeyRecord> {
  const find = () => findKeyRecords(context.db, id, idType === undefined ? undefined : [idType]);
  const found = await retry(find, context.workContext, 'outage');
  const [first, ...others] = found;
  if (first === undefined) {
    const find = () => findAttemptDocuments(context.db, id, idType);
    throw new UnknownKeyError(id, await retry(find, context.workContext, 'outage'));
  }
  if (others.length === 0) return first;
  const matches = found.map(({ record, idTypes }) => `\n  ${formatId(record.boq_list_id)}  # by ${idTypes.join(', ')}`);
  const more = found.length < MAX_MATCHES ? '' : ', and perhaps more';
  throw new CommandError(
    `The id ${quoteId(id)} matches ${count(found.length, 'key')}${more}. Run the command again with one of these:\n${matches.join('')}`,
  );
}

export class UnknownKeyError extends CommandError {
  /** @param documents the request records and lists with this id, which belong to no key */
  constructor(
    id: string,
    readonly documents: readonly QueryDocumentSnapshot[],
  ) {
    const paths = documents.map(({ ref }) => ref.path);
    super(
      paths.length === 0
        ? `No request was ever accepted for ${quoteId(id)}. Check the id and --project.`
        : `No key refers to ${paths.join(' and ')}, which exists. This is a fault: report it.`,
    );
  }
}

/** @throws CommandError if an attempt on the key is in progress under its lease */
export function assertActionAllowed({ record, readAt }: FoundKeyRecord): void {
  if (isLeaseHeld(record, readAt)) {
    const until = formatTime(record.lease_expires_at);
    throw new CommandError(
      `An attempt on the key is in progress. Its lease lasts until ${until}. Wait until the attempt ends.`,
    );
  }
}

export const getOperatorName = ({ by }: { by?: string }): string => by ?? userInfo().username;

export const toJson = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value, null, 2))}\n`;

export const toJsonLine = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value))}\n`;
