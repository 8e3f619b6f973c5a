import assert from 'node:assert/strict';
import type { DocumentSnapshot, Firestore } from 'firebase-admin/firestore';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { keyRecordSchema, type KeyRecord, type OperatorAction } from '../../src/lib/schemas/key-record';
import { checkKeyRecord, checkListStatus, getRecordedAttempts } from '../../src/price-lists/invariants';
import { isTransientCause } from '../../src/price-lists/key-state-machine';
import { describeKeyMove, KEY_MOVES } from '../explorer/key-moves';

/** Checks how key records change from one commit to the next, and keeps their states for the model. */

/** A key record between two commits. */
export type KeyState = KeyRecord | undefined;

export class KeyHistory {
  readonly #keys: readonly string[];
  readonly #moments: Map<string, KeyState[]>;
  /** Every document as it was when last read, by path. */
  #seen = new Map<string, DocumentSnapshot>();

  constructor(
    private readonly db: Firestore,
    keys: readonly string[],
    /** The true time. */
    private readonly getNow: () => number,
    private readonly onRenewal: () => void,
  ) {
    this.#keys = keys;
    this.#moments = new Map(keys.map((key) => [key, [undefined]]));
  }

  /** Marks the present moment of a key. */
  mark(key: string): number {
    return this.#momentsOf(key).length - 1;
  }

  /** What the key's record was at any time since the mark. */
  since(key: string, mark: number): readonly KeyState[] {
    return this.#momentsOf(key).slice(mark);
  }

  /** What the key's record is. */
  now(key: string): KeyState {
    return this.#momentsOf(key).at(-1);
  }

  /** @throws AssertionError if a key or a list has changed in a way in which none may */
  async checkCommit(): Promise<void> {
    const keys = this.#keys.map((key) => this.db.collection('price_list_idempotency').doc(keyDocumentId(key)));
    const known = [...this.#seen.values()].filter(({ ref }) => ref.parent.id !== 'price_list_idempotency');
    const found = await this.db.getAll(...keys, ...known.map(({ ref }) => ref));
    const before = this.#keys.map((key) => this.now(key));
    const records = this.#keys.map((key, i) => this.#lookAtKey(key, found[i]));
    for (const parent of found.slice(keys.length)) {
      const seen = this.#seen.get(parent.ref.path);
      if (seen !== undefined && !seen.isEqual(parent)) assertListTransition(seen, parent, records);
    }
    for (const document of found) this.#seen.set(document.ref.path, document);
    await this.#readNewLists(records);
    for (const record of records) if (record !== undefined) this.#checkInvariants(record);
    for (const [i, record] of records.entries()) {
      if (record !== undefined && record !== before[i]) this.#checkKeyMove(before[i], record);
    }
  }

  /** What a commit makes of a key is one of the moves that the explorer has. */
  #checkKeyMove(before: KeyState, after: KeyRecord): void {
    const getStatus = (path: string) => this.#seen.get(path)?.get('status') as string | undefined;
    const move = describeKeyMove(before, after, [
      getStatus(`expected_forward_costs/${after.creation?.expected_forward_cost_id}`),
      getStatus(`price_lists/${after.creation?.price_list_id}`),
    ]);
    assert(KEY_MOVES.has(move), `the explorer has no such move: ${move}`);
  }

  /** What the audit checks of a key record and the statuses of its lists holds after every commit. */
  #checkInvariants(record: KeyRecord): void {
    const violations = checkKeyRecord(record, keyDocumentId(record.boq_list_id));
    for (const recorded of getRecordedAttempts(record)) {
      const { creation } = recorded.attempt;
      if (creation === null) continue;
      const [cost, price] = [creation.expected_forward_cost_id, creation.price_list_id];
      violations.push(
        ...checkListStatus(recorded, 'expected_forward_cost', this.#seen.get(`expected_forward_costs/${cost}`)?.data()),
        ...checkListStatus(recorded, 'price_list', this.#seen.get(`price_lists/${price}`)?.data()),
      );
    }
    const [violation] = violations;
    if (violation !== undefined) assert.fail(`${violation.path} ${violation.message}`);
  }

  #lookAtKey(key: string, document: DocumentSnapshot | undefined): KeyState {
    const before = this.now(key);
    const seen = document && this.#seen.get(document.ref.path);
    if (
      document === undefined ||
      (seen ?? { updateTime: undefined }).updateTime?.valueOf() === document.updateTime?.valueOf()
    )
      return before;
    const record = document.exists ? keyRecordSchema.parse(document.data()) : undefined;
    assertKeyTransition(before, record, this.getNow());
    if (before?.status === 'processing' && record?.status === 'processing' && before.owner === record.owner) {
      this.onRenewal();
    }
    this.#momentsOf(key).push(record);
    return record;
  }

  async #readNewLists(records: readonly KeyState[]): Promise<void> {
    const parents = records
      .flatMap((record) => record?.creation ?? [])
      .flatMap(({ expected_forward_cost_id, price_list_id }) => [
        this.db.collection('expected_forward_costs').doc(expected_forward_cost_id),
        this.db.collection('price_lists').doc(price_list_id),
      ])
      .filter(({ path }) => !this.#seen.has(path));
    if (parents.length === 0) return;
    for (const parent of await this.db.getAll(...parents)) this.#seen.set(parent.ref.path, parent);
  }

  #momentsOf(key: string): KeyState[] {
    const moments = this.#moments.get(key);
    assert(moments, 'a key that the schedule knows');
    return moments;
  }
}

/** By how much a clock may be ahead of the true time (see world.ts). */
const MAX_CLOCK_SKEW_MS = 10_000;

function assertKeyTransition(before: KeyState, after: KeyState, now: number): void {
  assert(after, 'a key record is never deleted');
  const change = `${before?.status ?? 'none'} → ${after.status}`;
  if (before === undefined) {
    assert(['processing', 'completed'].includes(after.status), `a key begins with a claim, not ${change}`);
    return;
  }
  assert.notEqual(before.status, 'completed', `completed is final, not ${change}`);
  if (before.document_id !== after.document_id) {
    assert.equal(before.status, 'released', `only a released key is claimed again, not ${change}`);
    assert.equal(after.history.at(-1)?.document_id, before.document_id, 'a released attempt moves to the history');
    return;
  }
  assert.equal(after.fingerprint, before.fingerprint, 'an attempt keeps its payload');
  if (before.status === 'processing' && before.owner !== after.owner) {
    assert(now >= before.lease_expires_at - MAX_CLOCK_SKEW_MS, 'an attempt keeps its owner until its lease expires');
  }
  const action = after.actions.length === before.actions.length ? undefined : after.actions.at(-1);
  switch (after.status) {
    case 'completed':
      assert.equal(before.status, 'processing', `only an attempt in progress completes, not ${change}`);
      assert.equal(after.owner, before.owner, 'only the owner completes');
      break;
    case 'requires_review':
      assert.equal(before.status, 'processing', `only an attempt in progress fails, not ${change}`);
      break;
    case 'processing':
      if (action === undefined) assertRenewal(before, after);
      else assertResume(before, after, action);
      break;
    case 'released':
      assert.equal(action?.action, 'release', 'only an operator releases a key');
      break;
  }
}

function assertRenewal(before: KeyRecord, after: KeyRecord): void {
  assert.equal(before.status, 'processing', 'only a resume starts an attempt again');
  assert.equal(after.owner, before.owner, 'only the owner renews its lease');
}

function assertResume(before: KeyRecord, after: KeyRecord, { action, by }: OperatorAction): void {
  assert.equal(action, 'resume', 'only a resume starts an attempt again');
  if (!by.startsWith('sweep')) return;
  const isPassing = before.status === 'processing' || isTransientCause(before.failure_cause);
  assert(isPassing, 'the sweep resumes only what failed for a cause that passes');
  assert.equal(after.automatic_resumes, before.automatic_resumes + 1, 'each resume by the sweep is counted');
}

function assertListTransition(before: DocumentSnapshot, after: DocumentSnapshot, records: readonly KeyState[]): void {
  const record = records.find((each) =>
    [each?.creation?.expected_forward_cost_id, each?.creation?.price_list_id].includes(after.id),
  );
  const [from, to] = [before.get('status') as string, after.get('status') as string];
  if (from === 'ready') {
    assert(
      after.updateTime && before.updateTime?.isEqual(after.updateTime),
      `a ready list is never written again (now ${to})`,
    );
  } else if (from === 'failed' && to !== 'failed') {
    assert.equal(to, 'ready', 'a failed list changes to ready only');
    assert.equal(record?.actions.at(-1)?.action, 'resume', 'only a resume makes a failed list ready');
  } else {
    assert(['processing', 'ready', 'failed'].includes(to), `a list is processing, ready or failed, not ${to}`);
  }
}
