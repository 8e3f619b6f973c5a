import { userInfo } from 'node:os';
import { retry } from '../../../functions/src/lib/firestore/retry';
import type { DocumentSnapshot } from 'firebase-admin/firestore';
import type { WorkContext } from '../../../functions/src/lib/work-context';
import type { Database } from '../../../functions/src/lib/firestore/database';
import { findAttemptDocuments, findKeys, isReadable, type FoundKey, type ReadableKey } from '../../records/find';
import { CommandError, describeUnreadable } from '../errors';
import { isLeaseHeld } from '../../../functions/src/price-lists/key';
import { formatTime } from '../format';
import type { TargetOptions } from '../target';
import type { Terminal } from '../terminal';
import { escapeJsonControls, quoteId } from '../text';

export interface CommandContext {
  readonly terminal: Terminal;
  readonly db: Database;
  /** Its signal aborts when the command has to stop. */
  readonly workContext: WorkContext;
  /** The commands that this command prints repeat these options. */
  readonly targetOptions: TargetOptions;
}

export type MatchedKey = FoundKey & { key: ReadableKey };

/** @throws CommandError if no key or several keys match, or if the record of the key is unreadable; as `retry` does */
export async function findKey(id: string, context: CommandContext): Promise<MatchedKey> {
  const { db, workContext } = context;
  const read = <T>(fn: () => Promise<T>) => retry(fn, workContext, 'outage');
  const found = await read(() => findKeys(db, id));
  const [first, ...others] = found;
  if (first === undefined) {
    const documents = await read(() => findAttemptDocuments(db, id));
    const paths = documents.map(({ ref }) => ref.path).join(' and ');
    if (paths !== '')
      throw new DocumentError(`No key was found for the existing ${paths}. This is a fault: report it.`, documents);
    throw new CommandError(`No accepted request matches ${quoteId(id)}. Check the id, --project and --database.`);
  }
  if (others.length === 0) {
    const { key } = first;
    if (isReadable(key)) return { ...first, key };
    throw new DocumentError(describeUnreadable(key.reference.path), await read(() => db.getAll(key.reference)));
  }
  const matches = found.map(({ key, idTypes }) => {
    const named = isReadable(key) ? `${quoteId(key.record.boq_list_id)} of ${key.record.key_id}, ` : '';
    return `\n  ${key.reference.path}  # ${named}by ${idTypes.join(', ')}`;
  });
  throw new CommandError(
    `The id ${quoteId(id)} matches several keys. Run the command again with one of these:\n${matches.join('')}`,
  );
}

/** The id leads to documents that are not a readable key. `show` prints them. */
export class DocumentError extends CommandError {
  constructor(
    message: string,
    readonly documents: readonly DocumentSnapshot[],
  ) {
    super(message);
  }
}

/** @throws CommandError if an attempt on the key is in progress under its lease */
export function assertActionAllowed({ record, readAt }: ReadableKey): void {
  if (isLeaseHeld(record, readAt)) {
    const until = formatTime(record.lease_expires_at);
    throw new CommandError(
      `An attempt on the key is in progress. Its lease lasts until ${until}. Wait at least until then.`,
    );
  }
}

export const getOperatorName = ({ by }: { by?: string }): string => by ?? userInfo().username;

export const toJson = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value, null, 2))}\n`;

export const toJsonLine = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value))}\n`;
