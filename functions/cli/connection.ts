import { once } from 'node:events';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { applicationDefault } from 'firebase-admin/app';
import type { WorkContext } from '../src/lib/work-context';
import { abortable } from '../src/lib/clock';
import { getErrorMessage } from '../src/lib/errors';
import type { Database } from '../src/lib/firestore/database';
import { retry } from '../src/lib/firestore/retry';
import { keyDocument, readKey } from '../src/lib/repositories/keys';
import { CommandError, describeCredentials, describeError } from './errors';
import { parseAddress, type Target } from './target';

/**
 * Checks whether a command can reach its database, so that an operator who forgot a step learns it within
 * seconds. All later calls are retried for a minute.
 */

const CONNECT_TIMEOUT_MS = 2_000;
const CREDENTIALS_TIMEOUT_MS = 6_000;
const READ_TIMEOUT_MS = 8_000;

/** @throws CommandError that says what to check, within 15 s, or within 2 s if nothing listens locally */
export async function assertReachable(target: Target, db: Database, context: WorkContext): Promise<void> {
  if (target.address === undefined) await assertCredentials();
  else await assertListening(target.address, target.isAddressGiven);
  await assertReadable(target, db, context);
}

/** @throws CommandError within 2 s */
export async function assertListening(address: string, isGiven: boolean): Promise<void> {
  const socket = connect(parseAddress(address));
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
  } catch {
    const nothing = `Nothing listens at ${address}`;
    if (!isGiven) throw new CommandError(`${nothing}. Start the local service: npm start`);
    throw new CommandError(
      `${nothing}, the address in FIRESTORE_EMULATOR_HOST. Start a Firestore there, or unset the variable.`,
    );
  } finally {
    socket.destroy();
  }
}

async function assertCredentials(): Promise<void> {
  try {
    await abortable(AbortSignal.timeout(CREDENTIALS_TIMEOUT_MS), () => applicationDefault().getAccessToken());
  } catch (error) {
    throw new CommandError(describeCredentials(getErrorMessage(error)));
  }
}

/** @throws CommandError */
export async function assertReadable(target: Target, db: Database, context: WorkContext): Promise<void> {
  const createReason = () => Object.assign(new Error('no response'), { code: status.UNAVAILABLE });
  const timeout = context.clock.createTimeout(READ_TIMEOUT_MS, createReason, context.signal);
  const limited = { ...context, signal: timeout.signal };
  try {
    await retry(() => readKey(db, keyDocument(db, 'a key that no one reads')), limited, 'outage');
  } catch (error) {
    context.signal.throwIfAborted();
    if (target.address === undefined) throw new CommandError(describeError(error));
    throw new CommandError(
      `The server at ${target.address} does not respond as Firestore does. Check FIRESTORE_EMULATOR_HOST.`,
    );
  } finally {
    timeout.cancel();
  }
}
