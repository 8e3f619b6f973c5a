import { userInfo } from 'node:os';
import type { RequestContext } from '../../src/lib/request-context';
import type { Database } from '../../src/lib/firestore/database';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { CommandError } from '../errors';
import { escapeJsonControls } from '../escape';
import { isInProgress } from '../format';
import type { Terminal } from '../terminal';

/** What a command works with. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly db: Database;
  /** Its signal aborts when the operator stops the command. */
  readonly requestContext: RequestContext;
  /** The project, if the arguments name it: then the next command has to name it, too. */
  readonly project: string | undefined;
}

/** Fails before anything is asked; the state machine would reject the event as well. @throws CommandError */
export function assertNotInProgress(record: KeyRecord, { requestContext }: CommandContext): void {
  if (!isInProgress(record, requestContext.clock.now())) return;
  const until = new Date(record.lease_expires_at).toISOString();
  throw new CommandError(`An attempt on the key is in progress; its lease lasts until ${until}. Wait for it.`);
}

export const getOperatorName = ({ by }: { by?: string }): string => by ?? userInfo().username;

export const toJson = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value, null, 2))}\n`;

export const toJsonLine = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value))}\n`;
