import { StoppedError } from '../lib/errors';
import type { CommitWrites, Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { readKey, setKey, setListStatuses, type KeySnapshot } from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import { FAILURE_RESERVE_MS } from '../lib/runtime-options';
import type { KeyRecord } from '../lib/schemas/key-record';
import { getSweepDueAt, transition, type KeyEvent, type KeyOutcome } from './key-state-machine';

/**
 * Applies events to keys. Each try reads the key record, and commits what follows from the event in one commit, on the
 * precondition that the record is unchanged since the read; see docs/decisions/0008-conditional-commits.md.
 *
 * A try may be repeated: the id of an attempt and its owner token are created outside, and a repeated try recognizes by the
 * token what an earlier one wrote.
 */

/** Applies an event, and tries again after a transient error. */
export const applyEvent = (
  boqListId: string,
  event: KeyEvent,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> => retry(() => tryApplyEvent(boqListId, event, db, context), context);

/** Same, with its own timeout: FAILURE_RESERVE_MS, or what a stop leaves. */
export function applyFinalEvent(
  boqListId: string,
  event: KeyEvent,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  const reason: unknown = context.signal.reason;
  const reserveMs = reason instanceof StoppedError ? reason.reserveMs : undefined;
  const signal = AbortSignal.timeout(reserveMs ?? FAILURE_RESERVE_MS);
  return applyEvent(boqListId, event, db, { ...context, signal });
}

/** Applies an event in one try. */
export async function tryApplyEvent(
  boqListId: string,
  event: KeyEvent,
  db: Database,
  context: RequestContext,
): Promise<KeyOutcome> {
  const now = context.clock.now();
  return commitEvent(await readKey(db, boqListId), event, now, db, context);
}

/**
 * Commits what an event makes of a key as it was read; nothing if that is unchanged.
 *
 * @param now the time of the read
 * @param addExtraWrites to the same commit
 */
export async function commitEvent(
  key: KeySnapshot,
  event: KeyEvent,
  now: number,
  db: Database,
  { signal }: RequestContext,
  addExtraWrites: (writes: CommitWrites, record: KeyRecord) => void = () => undefined,
): Promise<KeyOutcome> {
  const { record, outcome } = transition(key.record, event, now);
  if (record === undefined || record === key.record) return outcome;
  // The workflow no longer waits for a try whose signal aborted, and may have acted on a later read.
  signal.throwIfAborted();
  const hasEnded = key.record?.status === 'processing' && record.status !== 'processing';
  await db.commit((writes) => {
    setKey(writes, key, record, getSweepDueAt(record));
    if (hasEnded) setListStatuses(db, writes, record);
    addExtraWrites(writes, record);
  });
  return outcome;
}
