import assert from 'node:assert/strict';
import type { CommittedChange, EmbeddedFirestore, MapValue, Value } from '../../emulator/src';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { requireKeyRecord } from './key-records';
import { LIST_STATUS } from '../../command/audit/expected';

/** The record of a key between two commits. Undefined before the first claim. */
export type KeyState = KeyRecord | undefined;

/** A key record after a commit, or no record before the first claim. */
export interface KeyMoment {
  state: KeyState;
  /** The name of the process that committed, or undefined if it is not known. */
  by: string | undefined;
  /** When the key becomes due, or undefined for never. */
  sweepDueAt: unknown;
}

type Fields = Record<string, unknown>;

/** A changed key record or list. */
interface Change {
  collection: string;
  id: string;
  before: Fields | undefined;
  after: Fields | undefined;
}

const KEYS = 'price_list_idempotency';
const LISTS = ['expected_forward_costs', 'price_lists'];

/** Checks how each commit to an embedded Firestore changes key records and lists, whichever process makes it. */
export class KeyMonitor {
  readonly stop: () => void;
  /** All states of each key, the oldest first. */
  readonly #moments = new Map<string, KeyMoment[]>();
  /** The current fields of every list, by path. */
  readonly #lists = new Map<string, Fields>();

  constructor(
    firestore: Pick<EmbeddedFirestore, 'observeCommits'>,
    /** Called when a commit makes a forbidden change. */
    onViolation: (error: unknown) => void,
    /** Returns the name of the process that commits. */
    private readonly getActor: () => string | undefined = () => undefined,
  ) {
    this.stop = firestore.observeCommits((changes) => {
      try {
        this.#checkCommit(changes.flatMap(toChange));
      } catch (error) {
        onViolation(error);
      }
    });
  }

  /** Returns the index of the current state of a key. */
  mark(key: string): number {
    return this.#momentsOf(key).length - 1;
  }

  /** Returns the states of the key from the state with the index `mark` on. */
  since(key: string, mark: number): readonly KeyMoment[] {
    return this.#momentsOf(key).slice(mark);
  }

  /** Returns the current record of the key. */
  now(key: string): KeyState {
    return this.#momentsOf(key).at(-1)?.state;
  }

  /** Returns when the key becomes due, or undefined for never. */
  getDueAt(key: string): number | undefined {
    return this.#momentsOf(key).at(-1)?.sweepDueAt as number | undefined;
  }

  /** Returns the index of the state since which the key needs an operator, or undefined if it needs none. */
  getReviewStart(key: string): number | undefined {
    const moments = this.#momentsOf(key);
    const needsOperator = ({ state }: KeyMoment) =>
      state?.status === 'requires_review' && (state.failure_cause === 'error' || state.failed_tries > 3);
    const start = moments.findLastIndex((moment) => !needsOperator(moment)) + 1;
    return start === moments.length ? undefined : start;
  }

  /** @throws Error if a key or a list has changed in a forbidden way */
  #checkCommit(changes: readonly Change[]): void {
    const lists = changes.filter(({ collection }) => LISTS.includes(collection));
    for (const { collection, id, before, after } of lists) {
      assert(after, 'a list is never deleted');
      assert.notEqual(before?.['status'], 'ready', 'a ready list is never written again');
      this.#lists.set(`${collection}/${id}`, after);
    }
    const keys = changes.filter(({ collection }) => collection === KEYS);
    for (const change of keys) this.#applyKeyChange(change);
    const records = [...this.#moments.keys()].flatMap((key) => this.now(key) ?? []);
    if (lists.length + keys.length > 0) for (const record of records) this.#checkInvariants(record);
  }

  #applyKeyChange(change: Change): void {
    assert(change.after, 'a key record is never deleted');
    const toRecord = ({ sweep_due_at: _, ...stored }: Fields) => requireKeyRecord(stored);
    const before = change.before && toRecord(change.before);
    const record = toRecord(change.after);
    const sweepDueAt = change.after['sweep_due_at'];
    this.#momentsOf(record.boq_list_id).push({ state: record, by: this.getActor(), sweepDueAt });
    const isReleased = before?.lists === null && record.status === 'released';
    assert(before?.status !== 'completed' || isReleased, `completed is final, not ${record.status}`);
    if (before?.status === 'processing' && before.document_id === record.document_id) checkTries(before, record);
  }

  /** Asserts that the status of both lists follows from that of their key. */
  #checkInvariants({ status, lists }: KeyRecord): void {
    if (lists === null) return;
    for (const path of [
      `expected_forward_costs/${lists.expected_forward_cost_id}`,
      `price_lists/${lists.price_list_id}`,
    ]) {
      const found = this.#lists.get(path)?.['status'];
      assert.equal(found, LIST_STATUS[status], `${path} is ${String(found)}, but its attempt is ${status}`);
    }
  }

  #momentsOf(key: string): KeyMoment[] {
    const moments = this.#moments.get(key) ?? [{ state: undefined, by: undefined, sweepDueAt: undefined }];
    this.#moments.set(key, moments);
    return moments;
  }
}

/** Asserts that each failed try counts unless it was stopped, and that an operator's resume resets the count. */
function checkTries(before: KeyRecord, { status, owner, failure_cause, failed_tries, actions }: KeyRecord): void {
  const isResumed = status === 'processing' && owner !== before.owner;
  if (isResumed && actions.length > before.actions.length)
    assert.equal(failed_tries, 0, 'a resume by an operator resets the failed tries');
  else {
    const hasFailed = isResumed || status === 'released' || status === 'requires_review';
    const counted = hasFailed && failure_cause !== 'stopped' ? 1 : 0;
    assert.equal(
      failed_tries,
      before.failed_tries + counted,
      'each failed try counts unless stopped, and nothing else does',
    );
  }
}

/** Returns the change of a key record or a list, and an empty array for any other document. */
function toChange(change: CommittedChange): Change[] {
  const [, path = ''] = change.name.split('/documents/');
  const [collection = '', id = '', ...below] = path.split('/');
  if (below.length > 0 || ![KEYS, ...LISTS].includes(collection)) return [];
  const toFields = (version: MapValue | undefined) => version && (toPlain(version) as Fields);
  return [{ collection, id, before: toFields(change.before), after: toFields(change.after) }];
}

/** Converts a stored value to what the SDK would read. These documents have only plain values. */
function toPlain(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(toPlain);
  return value instanceof Map ? Object.fromEntries(Array.from(value, ([name, each]) => [name, toPlain(each)])) : value;
}
