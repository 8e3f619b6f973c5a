import type { CommitWrites, Database } from '../lib/firestore/database';
import {
  failLists,
  isKeyOf,
  readKey,
  setKey,
  type KeyReference,
  type KeySnapshot,
} from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { transition, type KeyEvent, type KeyOutcome } from './key-state-machine';
import { getSweepDueAt } from './sweep-schedule';

/** Adds writes to the commit of an event. @param record that the event makes of the key */
type AddWrites = (writes: CommitWrites, record: KeyRecord) => void;

/**
 * The record of one key, to which events are applied: each reads the record, and commits what
 * follows from the event on the precondition that the record is unchanged since the read
 * (docs/decisions/0008-conditional-commits.md).
 *
 * Each call is one try and may be repeated: the ids and the owner token of an attempt are made
 * outside, and a repeated try recognizes by the token what an earlier one wrote.
 */
export class KeyStore {
  constructor(
    readonly reference: KeyReference,
    readonly db: Database,
    readonly context: RequestContext,
  ) {}

  read(): Promise<KeySnapshot> {
    return readKey(this.db, this.reference);
  }

  /** @param addWrites to the commit of an event by which the sender claims, completes or takes over the attempt */
  async apply(event: KeyEvent, addWrites?: AddWrites): Promise<KeyOutcome> {
    // Taken before the read, so a lease that expires during the read still counts as held.
    const now = this.context.clock.now();
    return this.applyTo(await this.read(), event, now, addWrites);
  }

  /** Applies an event to the key as it was read at a time. Fails with a conflict if the record has changed since. */
  async applyTo(key: KeySnapshot, event: KeyEvent, now: number, addWrites?: AddWrites): Promise<KeyOutcome> {
    const { record, outcome } = transition(key.record, event, now);
    if (record === undefined || record === key.record) return outcome;
    // The workflow no longer waits for a try whose signal aborted, and may have acted on a later
    // read.
    this.context.signal.throwIfAborted();
    const isOwn = outcome.kind === 'owned' || (outcome.kind === 'completed' && outcome.isOwn);
    await this.db.commit((writes) => {
      setKey(writes, key, record, getSweepDueAt(record));
      // A record that is stored under the id of another key may be a copy, with the lists of that key.
      if (hasFailed(key.record, record) && isKeyOf(this.reference, record.boq_list_id))
        failLists(this.db, writes, record);
      if (isOwn) addWrites?.(writes, record);
    });
    return outcome;
  }
}

/** Whether an attempt that was in progress ended without success, also if another one took it over at once. */
function hasFailed(before: KeyRecord | undefined, after: KeyRecord): boolean {
  if (before?.status !== 'processing' || after.status === 'completed') return false;
  const isRenewal = after.status === 'processing' && after.owner === before.owner;
  return !isRenewal;
}
