import { status } from '@grpc/grpc-js';
import { applicationDefault } from 'firebase-admin/app';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { abortable } from '../../functions/src/lib/clock';
import type { Database } from '../../functions/src/lib/firestore/database';
import { isTransient, retry } from '../../functions/src/lib/firestore/retry';
import { keyDocument, readKey } from '../../functions/src/lib/repositories/keys';
import { CommandError, describeCredentials, describeError } from './errors';
import type { Target } from './target';

/**
 * Checks whether a command can reach its database, so that an operator who forgot a step learns that within
 * seconds. Without this check, the first call would be retried for a minute.
 */

const CREDENTIALS_TIMEOUT_MS = 6_000;
const READ_TIMEOUT_MS = 8_000;

/** @throws CommandError within 15 s; the signal's reason */
export async function assertReachable(target: Target, db: Database, context: WorkContext): Promise<void> {
  if (target.address === undefined) await assertCredentials(context.signal);
  await assertReadable(target, db, context);
}

async function assertCredentials(signal: AbortSignal): Promise<void> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(CREDENTIALS_TIMEOUT_MS)]);
  try {
    await abortable(ends, () => applicationDefault().getAccessToken());
  } catch (error) {
    signal.throwIfAborted();
    throw new CommandError(describeCredentials(error instanceof Error ? error.message : String(error)));
  }
}

/** @throws CommandError, or the signal's reason */
export async function assertReadable({ address }: Target, db: Database, context: WorkContext): Promise<void> {
  const createReason = () => Object.assign(new Error('no response'), { code: status.UNAVAILABLE });
  const timeout = context.clock.createTimeout(READ_TIMEOUT_MS, createReason, context.signal);
  const limited = { ...context, signal: timeout.signal };
  const read = () => readKey(db, keyDocument(db, 'a key that no one reads'));
  try {
    // One call finds out that nothing listens at the address. If the machine is busy, that call can take seconds.
    await (address === undefined ? retry(read, limited, 'outage') : abortable(timeout.signal, read));
  } catch (error) {
    context.signal.throwIfAborted();
    if (address === undefined || !isTransient(error)) throw new CommandError(describeError(error));
    throw new CommandError(
      `No Firestore responds at ${address}. Start the local service (npm start), or check FIRESTORE_EMULATOR_HOST.`,
    );
  } finally {
    timeout.cancel();
  }
}
