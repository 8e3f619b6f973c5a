import { StoppedError } from '../lib/errors';
import type { CommitWrites, Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import {
  clearSweepDueAt,
  failLists,
  isKeyOf,
  readKey,
  setKey,
  type KeyReference,
  type KeySnapshot,
} from '../lib/repositories/price-lists';
import type { WorkContext } from '../lib/work-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { RETRY_MS } from '../lib/time-limits';
import { transition, type KeyEvent, type KeyOutcome } from './key-state-machine';
import { getSweepDueAt } from './sweep-schedule';

/** Adds writes to the commit of an event. @param record the key record after the event */
type AddWrites = (writes: CommitWrites, record: KeyRecord) => void;

export type AppliedOutcome = Exclude<KeyOutcome, { kind: 'owned' }> | HeldKey;

export interface HeldKey {
  kind: 'owned';
  record: KeyRecord;
  /**
   * When the lease ends at the earliest, by the clock of this process. A read with the read time R began no later than R,
   * so a lease until E lasts at least E - R from the start of the read.
   */
  heldUntil: number;
}

/**
 * Applies events to the record of one key. A change of the record is one commit, on the precondition that
 * the record is unchanged since its read (docs/decisions/0008-conditional-commits.md).
 *
 * `apply` and `applyTo` each make one try, which the caller can repeat. The caller creates the owner token of an
 * attempt before the first try. By this token a later try recognizes the writes of an earlier one.
 */
export class KeyStore {
  constructor(
    readonly reference: KeyReference,
    readonly db: Database,
    readonly context: WorkContext,
  ) {}

  read(): Promise<KeySnapshot> {
    return readKey(this.db, this.reference);
  }

  /** @param addWrites called if the event changes the record, and its sender then owns the attempt or has completed it */
  async apply(event: KeyEvent, addWrites?: AddWrites): Promise<AppliedOutcome> {
    const startedAt = this.context.clock.elapsedMs();
    return this.applyTo(await this.read(), startedAt, event, addWrites);
  }

  /**
   * Applies an event to a key that has just been read. A commit fails with a conflict if the record has changed since.
   *
   * @param startedAt when the read began, by the clock of this process
   */
  async applyTo(key: KeySnapshot, startedAt: number, event: KeyEvent, addWrites?: AddWrites): Promise<AppliedOutcome> {
    const { record, outcome } = transition(key.record, event, key.readAt);
    if (record !== undefined && record !== key.record) {
      // After an abort the caller no longer waits for this try, and can have acted on a later read.
      this.context.signal.throwIfAborted();
      const isOwn = outcome.kind === 'owned' || (outcome.kind === 'completed' && outcome.isOwn);
      await this.db.commit((writes) => {
        setKey(writes, key, record, getSweepDueAt(record));
        // A record that is not under the id of its key can be a copy. Its lists then belong to the original.
        if (hasFailed(key.record, record) && isKeyOf(this.reference, record.boq_list_id))
          failLists(this.db, writes, record);
        if (isOwn) addWrites?.(writes, record);
      });
    }
    if (outcome.kind !== 'owned') return outcome;
    return { ...outcome, heldUntil: startedAt + outcome.record.lease_expires_at - key.readAt };
  }

  /** Applies an event with retries, within the reserved time, even if the signal of the context has aborted. */
  applyWithinReserve(event: KeyEvent): Promise<AppliedOutcome> {
    return this.#withinReserve((keys) => keys.apply(event));
  }

  /** Removes a reported key from the sweep's index, unless its record has changed since it was read. */
  clearDueTime(key: KeySnapshot): Promise<void> {
    return this.#withinReserve(({ db }) =>
      db
        .commit((writes) => clearSweepDueAt(writes, key))
        .catch((error: unknown) => {
          if (!isConflict(error)) throw error;
        }),
    );
  }

  /** Makes calls within the time reserved for the end of an attempt, which is shorter after a stop of the instance. */
  async #withinReserve<T>(call: (keys: KeyStore) => Promise<T>): Promise<T> {
    const { clock, signal: ended } = this.context;
    const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : RETRY_MS.reserve;
    const createReason = () => new Error(`no response within the ${reserveMs} ms reserved for the end of an attempt`);
    const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
    const keys = new KeyStore(this.reference, this.db, { ...this.context, signal });
    return retry(() => call(keys), keys.context, 'reserve').finally(cancel);
  }
}

/** Returns whether an attempt in progress ended without completing, even if the same event then resumed it. */
function hasFailed(before: KeyRecord | undefined, after: KeyRecord): boolean {
  if (before?.status !== 'processing' || after.status === 'completed') return false;
  const isRenewal = after.status === 'processing' && after.owner === before.owner;
  return !isRenewal;
}
