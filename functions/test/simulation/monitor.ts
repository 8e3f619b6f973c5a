import assert from 'node:assert/strict';
import type { DocumentSnapshot, Firestore } from 'firebase-admin/firestore';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { keyRecordSchema, type KeyRecord } from '../../src/lib/schemas/key-record';

/** Watches how the records of keys change from one commit to the next, and remembers it for the model. */

/** What a key's record was from some moment on. */
export type KeyState = KeyRecord | undefined;

export class KeyHistory {
  readonly #keys: readonly string[];
  readonly #moments: Map<string, KeyState[]>;
  /** Every document that was ever looked at, as it was then, by path. */
  #seen = new Map<string, DocumentSnapshot>();

  constructor(
    private readonly db: Firestore,
    keys: readonly string[],
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

  /** Looks at every key, and throws an AssertionError if one has changed in a way in which none may. */
  async checkCommit(): Promise<void> {
    const keys = this.#keys.map((key) => this.db.collection('price_list_idempotency').doc(keyDocumentId(key)));
    const known = [...this.#seen.values()].filter(({ ref }) => ref.parent.id !== 'price_list_idempotency');
    const found = await this.db.getAll(...keys, ...known.map(({ ref }) => ref));
    const records = this.#keys.map((key, i) => this.#lookAtKey(key, found[i]));
    for (const parent of found.slice(keys.length)) {
      const before = this.#seen.get(parent.ref.path);
      if (before !== undefined && !before.isEqual(parent)) assertListTransition(before, parent, records);
    }
    for (const document of found) this.#seen.set(document.ref.path, document);
    await this.#meetParents(records);
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
    assertKeyTransition(before, record);
    this.#momentsOf(key).push(record);
    return record;
  }

  /** Looks at the parents of attempts that are new. */
  async #meetParents(records: readonly KeyState[]): Promise<void> {
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

function assertKeyTransition(before: KeyState, after: KeyState): void {
  assert(after, 'the record of a key is never deleted');
  const change = `${before?.status ?? 'none'} → ${after.status}`;
  if (before === undefined) {
    assert(['processing', 'completed'].includes(after.status), `a key begins with a claim, not ${change}`);
    return;
  }
  assert.notEqual(before.status, 'completed', `completed is final, not ${change}`);
  if (before.document_id !== after.document_id) {
    assert.equal(before.status, 'released', `only a released key is claimed again, not ${change}`);
    assert.equal(after.history.at(-1)?.document_id, before.document_id, 'a settled attempt moves to the history');
    return;
  }
  assert.equal(after.fingerprint, before.fingerprint, 'an attempt keeps its payload');
  const acted = after.actions.length === before.actions.length ? undefined : after.actions.at(-1)?.action;
  switch (after.status) {
    case 'completed':
      assert.equal(before.status, 'processing', `only a live attempt is finished, not ${change}`);
      assert.equal(after.owner, before.owner, 'only the owner finishes');
      break;
    case 'requires_review':
      assert.equal(before.status, 'processing', `only a live attempt fails, not ${change}`);
      break;
    case 'processing':
      assert.equal(acted, 'resume', 'only an operator makes an attempt live again');
      break;
    case 'released':
      assert.equal(acted, 'release', 'only an operator frees a key');
      break;
  }
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
    assert.equal(to, 'ready', 'a failed list is only ever made ready');
    assert.equal(record?.actions.at(-1)?.action, 'resume', "a failed list is made ready by an operator's resume alone");
  } else {
    assert(['processing', 'ready', 'failed'].includes(to), `a list is processing, ready or failed, not ${to}`);
  }
}
