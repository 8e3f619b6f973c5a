import { isDeepStrictEqual } from 'node:util';
import { StoppedError } from '../lib/errors';
import type { CommitWrites, Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { readKey, setKey, setListStatuses, type KeySnapshot } from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { RETRY_MS } from '../lib/time-limits';
import { getSweepDueAt, getSweepObstacle, transition, type KeyEvent, type KeyOutcome } from './key-state-machine';

interface TryOptions {
  /** The record as it was read before: if it changed since, the try fails. */
  known?: KeySnapshot | undefined;
  addOwnerWrites?: ((writes: CommitWrites) => void) | undefined;
}

/**
 * The record of one key, to which events are applied. Each try reads the record, and commits what
 * follows from the event in one commit, on the precondition that the record is unchanged since the
 * read; see docs/decisions/0008-conditional-commits.md.
 *
 * A try may be repeated: the id of an attempt and its owner token are created outside, and a
 * repeated try recognizes by the token what an earlier one wrote.
 */
export class KeyStore {
  /** What was last to be committed: the reply to that may have been lost. */
  #tried: KeyRecord | undefined;

  /** @param onLeft called if it is this store that lets a lease lapse after which only an operator helps */
  constructor(
    readonly boqListId: string,
    readonly db: Database,
    readonly context: RequestContext,
    private readonly onLeft: (record: KeyRecord, reason: string) => void = () => undefined,
  ) {}

  read(): Promise<KeySnapshot> {
    return readKey(this.db, this.boqListId);
  }

  /**
   * Applies an event, and tries again after a transient error.
   *
   * @param addOwnerWrites to the same commit, if by it the sender owns the attempt
   */
  apply(event: KeyEvent, addOwnerWrites?: (writes: CommitWrites) => void): Promise<KeyOutcome> {
    return retry(() => this.tryApply(event, { addOwnerWrites }), this.context, 'standalone');
  }

  /** Same, in the time that is reserved for it, or that a stop leaves: the signal of the work may have aborted. */
  async applyWithinReserve(event: KeyEvent): Promise<KeyOutcome> {
    const { clock, signal: ended } = this.context;
    const reserveMs = ended.reason instanceof StoppedError ? ended.reason.reserveMs : RETRY_MS.reserve;
    const createReason = () => new Error(`no response within the ${reserveMs} ms reserved for the end of an attempt`);
    const { signal, cancel } = clock.createTimeout(reserveMs, createReason);
    const store = new KeyStore(this.boqListId, this.db, { ...this.context, signal }, this.onLeft);
    store.#tried = this.#tried;
    return retry(() => store.tryApply(event), store.context, 'reserve').finally(cancel);
  }

  /** Applies an event in one try. */
  async tryApply(event: KeyEvent, { known, addOwnerWrites }: TryOptions = {}): Promise<KeyOutcome> {
    // Of before the read: a lease that lapses meanwhile has not.
    const now = this.context.clock.now();
    const key = known ?? (await this.read());
    const { record, outcome } = transition(key.record, event, now);
    await this.commit(key, record, outcome.kind === 'owned' ? addOwnerWrites : undefined);
    return outcome;
  }

  /**
   * Commits the next record of a key, and the statuses that its lists then have; nothing if it is
   * the record that was read.
   *
   * @param addExtraWrites to the same commit
   */
  async commit(
    key: KeySnapshot,
    record: KeyRecord | undefined,
    addExtraWrites: (writes: CommitWrites) => void = () => undefined,
  ): Promise<void> {
    if (record === undefined) return;
    if (record === key.record) {
      if (this.hasCommitted(record)) this.#tellIfLeft(record);
      return;
    }
    // The workflow no longer waits for a try whose signal aborted, and may have acted on a later
    // read.
    this.context.signal.throwIfAborted();
    const hasEnded = key.record?.status === 'processing' && record.status !== 'processing';
    this.#tried = record;
    await this.db.commit((writes) => {
      setKey(writes, key, record, getSweepDueAt(record));
      if (hasEnded) setListStatuses(this.db, writes, record);
      addExtraWrites(writes);
    });
    this.#tellIfLeft(record);
  }

  #tellIfLeft(record: KeyRecord): void {
    this.#tried = undefined;
    if (record.status !== 'requires_review' || record.failure_cause !== 'lease_expired') return;
    const obstacle = getSweepObstacle(record);
    if (obstacle !== null) this.onLeft(record, obstacle);
  }

  /** Whether a record, as it is stored, is what this store has made of the key. */
  hasCommitted(record: KeyRecord | undefined): boolean {
    return record !== undefined && isDeepStrictEqual(record, this.#tried);
  }
}
