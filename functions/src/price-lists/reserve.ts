import { StoppedError } from '../lib/errors';
import { retry } from '../lib/firestore/retry';
import { RETRY_MS } from '../lib/time-limits';
import type { KeyEvent, KeyOutcome } from './key-state-machine';
import { KeyStore } from './key-store';

/** Applies an event in the time reserved for it, or left by a stop. The signal of the work may have aborted by then. */
export async function applyWithinReserve(event: KeyEvent, { reference, db, context }: KeyStore): Promise<KeyOutcome> {
  const { clock, signal: ended } = context;
  const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : RETRY_MS.reserve;
  const createReason = () => new Error(`no response within the ${reserveMs} ms reserved for the end of an attempt`);
  const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
  const keys = new KeyStore(reference, db, { ...context, signal });
  return retry(() => keys.apply(event), keys.context, 'reserve').finally(cancel);
}
