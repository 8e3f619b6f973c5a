import { StoppedError } from '../lib/errors';
import { retry } from '../lib/firestore/retry';
import { RETRY_MS } from '../lib/time-limits';
import type { KeyEvent, KeyOutcome } from './key-state-machine';
import { KeyStore } from './key-store';

/**
 * Applies an event at the end of an attempt, within the reserve or the time that a stop leaves. The
 * signal of the request may have aborted by then.
 */
export async function applyWithinReserve(event: KeyEvent, { reference, db, context }: KeyStore): Promise<KeyOutcome> {
  const { clock, signal: ended } = context;
  const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : RETRY_MS.reserve;
  const createReason = () => new Error(`no response within the ${reserveMs} ms reserved for the end of an attempt`);
  const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
  const keys = new KeyStore(reference, db, { ...context, signal });
  return retry(() => keys.apply(event), keys.context, 'reserve').finally(cancel);
}
