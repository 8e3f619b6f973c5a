import { LoggableError, StoppedError } from '../lib/errors';
import type { Database, Writes } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { readKey, setKey, type KeyReference, type KeySnapshot } from '../lib/repositories/keys';
import { setListDocuments, type ListDocuments } from '../lib/repositories/lists';
import { settleRequest } from '../lib/repositories/request-records';
import type { KeyRecord } from '../lib/schemas/key-record';
import { FAILURE_RESERVE_MS } from '../lib/time-limits';
import { transition, type Decision, type KeyEvent, type KeyOutcome, type ReadMoment } from './key';
import { getSweepDueAt } from './schedule';

/** Where an event takes place: a key, and the database of the request, command or sweep that sends the event. */
export interface KeyStore {
  reference: KeyReference;
  db: Database;
}

/**
 * Applies an event to a key: reads its record, decides, and commits on the precondition that the record is unchanged
 * (docs/decisions/0008-conditional-commits.md). The caller can repeat this after an error, because the record then shows
 * whether the first commit has taken effect.
 */
export async function applyEvent({ reference, db }: KeyStore, event: KeyEvent): Promise<KeyOutcome> {
  const startedAt = db.context.clock.elapsedMs();
  const key = await readKey(db, reference);
  const { record, lists, outcome } = decide(key, event, startedAt);
  if (record === undefined) return outcome;
  await db.commit((writes) => {
    setRecord(writes, db, key, record, lists);
    if (event.kind === 'release') settleRequest(db, writes, record);
  });
  return outcome;
}

/** Decides the outcome of an event for a key that has been read. An unreadable record stays as it is, and its key needs an operator. */
export function decide(key: KeySnapshot, event: KeyEvent, startedAt: number): Decision {
  if (key.record === 'unreadable')
    return { lists: null, outcome: { kind: 'in_review', recovery: { kind: 'operator' } } };
  const moment: ReadMoment = { readAt: key.readAt, startedAt };
  return transition(key.record, event, moment);
}

export function setRecord(
  writes: Writes,
  db: Database,
  key: KeySnapshot,
  record: KeyRecord,
  lists: ListDocuments | null,
): void {
  setKey(writes, key, record, getSweepDueAt(record));
  if (record.lists !== null && lists !== null) setListDocuments(db, writes, record.lists, lists);
}

/** Applies an event with retries, within the time reserved for failing an attempt, even if the signal of the database has aborted. */
export async function applyWithinReserve({ reference, db }: KeyStore, event: KeyEvent): Promise<KeyOutcome> {
  const { clock, signal: ended } = db.context;
  const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : FAILURE_RESERVE_MS;
  const createReason = () =>
    new LoggableError(`no response within the ${reserveMs} ms reserved for failing an attempt`);
  const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
  const key = { reference, db: db.until(signal) };
  return retry(() => applyEvent(key, event), key.db.context, 'outage').finally(cancel);
}
