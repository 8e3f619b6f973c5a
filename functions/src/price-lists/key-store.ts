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
   * When the lease ends, by the clock of this process. The read that Firestore answered at its time R
   * began no later than R, so a lease until E lasts at least E - R from the start of the read.
   */
  heldUntil: number;
}

/**
 * Applies events to the record of one key. Each event reads the record and commits its changes on
 * the precondition that the record is unchanged (docs/decisions/0008-conditional-commits.md).
 *
 * `apply` and `applyTo` each make one try, which the caller can repeat. The caller creates the ids and the owner
 * token of an attempt, so a repeated try recognizes the writes of an earlier one by the token.
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

  /** @param addWrites called if the event claims, completes or takes over the attempt for its sender */
  async apply(event: KeyEvent, addWrites?: AddWrites): Promise<AppliedOutcome> {
    const startedAt = this.context.clock.elapsedMs();
    return this.applyTo(await this.read(), startedAt, event, addWrites);
  }

  /**
   * Applies an event to a key that was read just now. Fails with a conflict if the record has changed since.
   *
   * @param startedAt when the read began, by the clock of this process
   */
  async applyTo(key: KeySnapshot, startedAt: number, event: KeyEvent, addWrites?: AddWrites): Promise<AppliedOutcome> {
    const { record, outcome } = transition(key.record, event, key.readAt);
    if (record !== undefined && record !== key.record) {
      // The caller no longer waits for a try whose signal aborted, and may have acted on a later read.
      this.context.signal.throwIfAborted();
      const isOwn = outcome.kind === 'owned' || (outcome.kind === 'completed' && outcome.isOwn);
      await this.db.commit((writes) => {
        setKey(writes, key, record, getSweepDueAt(record));
        // A record under an id that is not its key's may be a copy. Its lists can belong to the original, so they stay.
        if (hasFailed(key.record, record) && isKeyOf(this.reference, record.boq_list_id))
          failLists(this.db, writes, record);
        if (isOwn) addWrites?.(writes, record);
      });
    }
    if (outcome.kind !== 'owned') return outcome;
    return { ...outcome, heldUntil: startedAt + outcome.record.lease_expires_at - key.readAt };
  }

  /** Applies an event at the end of an attempt, with retries. The signal of the request may have aborted by then. */
  applyWithinReserve(event: KeyEvent): Promise<AppliedOutcome> {
    return this.#withinReserve((keys) => keys.apply(event));
  }

  /** Removes a reported key from the sweep's index, unless another event was applied since it was read. */
  clearDueTime(key: KeySnapshot): Promise<void> {
    return this.#withinReserve(({ db }) =>
      db
        .commit((writes) => clearSweepDueAt(writes, key))
        .catch((error: unknown) => {
          if (!isConflict(error)) throw error;
        }),
    );
  }

  /** Makes calls within the reserve, or within the time that a stop leaves. */
  async #withinReserve<T>(call: (keys: KeyStore) => Promise<T>): Promise<T> {
    const { clock, signal: ended } = this.context;
    const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : RETRY_MS.reserve;
    const createReason = () => new Error(`no response within the ${reserveMs} ms reserved for the end of an attempt`);
    const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
    const keys = new KeyStore(this.reference, this.db, { ...this.context, signal });
    return retry(() => call(keys), keys.context, 'reserve').finally(cancel);
  }
}

/** Whether an attempt in progress ended without success, even if another one took it over at once. */
function hasFailed(before: KeyRecord | undefined, after: KeyRecord): boolean {
  if (before?.status !== 'processing' || after.status === 'completed') return false;
  const isRenewal = after.status === 'processing' && after.owner === before.owner;
  return !isRenewal;
}
