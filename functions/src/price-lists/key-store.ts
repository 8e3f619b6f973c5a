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

/** Adds writes to the commit of an event. @param record the key record after the event */
type AddWrites = (writes: CommitWrites, record: KeyRecord) => void;

/**
 * Applies events to the record of one key. Each event reads the record and commits its changes on
 * the precondition that the record is unchanged (docs/decisions/0008-conditional-commits.md).
 *
 * Each call is one try and may be repeated. The caller creates the ids and the owner token of an
 * attempt, so a repeated try recognizes the writes of an earlier one by the token.
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

  /** @param addWrites called if the event claims, completes or takes over the attempt for its sender */
  async apply(event: KeyEvent, addWrites?: AddWrites): Promise<KeyOutcome> {
    // Taken before the read, so a lease that expires during the read still counts as held.
    const now = this.context.clock.now();
    return this.applyTo(await this.read(), event, now, addWrites);
  }

  /** Applies an event to a key that was read earlier. Fails with a conflict if the record has changed since. */
  async applyTo(key: KeySnapshot, event: KeyEvent, now: number, addWrites?: AddWrites): Promise<KeyOutcome> {
    const { record, outcome } = transition(key.record, event, now);
    if (record === undefined || record === key.record) return outcome;
    // The workflow no longer waits for a try whose signal aborted. It may have acted on a later
    // read.
    this.context.signal.throwIfAborted();
    const isOwn = outcome.kind === 'owned' || (outcome.kind === 'completed' && outcome.isOwn);
    await this.db.commit((writes) => {
      setKey(writes, key, record, getSweepDueAt(record));
      // A record under the id of another key may be a copy that names the lists of that key.
      if (hasFailed(key.record, record) && isKeyOf(this.reference, record.boq_list_id))
        failLists(this.db, writes, record);
      if (isOwn) addWrites?.(writes, record);
    });
    return outcome;
  }
}

/** Whether an attempt in progress ended without success, even if another one took it over at once. */
function hasFailed(before: KeyRecord | undefined, after: KeyRecord): boolean {
  if (before?.status !== 'processing' || after.status === 'completed') return false;
  const isRenewal = after.status === 'processing' && after.owner === before.owner;
  return !isRenewal;
}
