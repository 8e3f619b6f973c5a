import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { checkKeyRecord, checkListStatus, getRecordedAttempts } from '../../src/price-lists/invariants';
import { getSweepObstacle, isTransientCause } from '../../src/price-lists/key-state-machine';
import type { Change, Moves, Scenario } from './moves';
import { ALL_ENTRIES, LEAST_SAFE_LEVEL, type Commit, type KeyRecords, type ListPair, type State } from './state';

/** What holds in every state and for every move, and what every state can still reach: docs/reliability.md, "Exploration". */
export const PROPERTIES = {
  one_pair: 'a key has at most one pair of lists that did not fail, and every pair belongs to an attempt of the key',
  one_claim: 'an attempt claims its key once',
  list_status:
    'a list is ready exactly if its key is completed, and both lists of an attempt have a status of its state',
  released_lists: 'the lists of a released attempt are failed, and stay so',
  ready_complete: 'a ready list has all its entries',
  response: 'a key has a response exactly if it is completed, and the response never changes',
  completed_final: 'nothing changes a completed key and its lists',
  own_response: 'a client that got 200 got the response of its key, to its own payload',
  own_claim: 'no request is rejected while its own attempt is in progress',
  claim: 'only a key without a record, or a released one, is claimed',
  only_owner: 'only the owner renews, completes or fails its attempt, and only one in progress',
  one_owner: 'one actor at most works under an owner token',
  lease_kept: 'an attempt keeps its owner while no clock in the margin sees its lease as expired',
  write_under_lease: 'a batch that takes no longer than a commit may lands while its sender owns the key',
  decision: 'a decision applies to the attempt about which it was made, and only if that requires review',
  sweep_limit: 'a sweep resumes only after a transient cause, and only so many times',
  liveness: 'without further faults, every key gets completed, available or to an operator, with nothing under way',
} as const;

export type Property = keyof typeof PROPERTIES;

const NONE: readonly Property[] = [];

/** Checks the states and the moves of one scenario. Each check returns the properties that are violated. */
export class Safety {
  /** By what is stored, which recurs in many states. */
  readonly #ofStored = new Map<string, readonly Property[]>();
  readonly #records: KeyRecords;
  readonly #scenario: Scenario;

  constructor({ records, scenario }: Moves) {
    this.#records = records;
    this.#scenario = scenario;
  }

  checkState(state: State): readonly Property[] {
    const record = this.#records.get(state.record);
    const [stored, actors] = [this.#checkStored(state), checkActors(state, record)];
    return actors.length === 0 ? stored : [...stored, ...actors];
  }

  #checkStored({ record, pairs }: State): readonly Property[] {
    const id = `${record} ${pairs.map(({ id, cost, price, entries }) => `${id} ${cost} ${price} ${entries}`).join()}`;
    let found = this.#ofStored.get(id);
    if (found === undefined) {
      found = checkStored(this.#records.get(record), pairs);
      this.#ofStored.set(id, found);
    }
    return found;
  }

  checkMove(before: State, after: State, change: Change): readonly Property[] {
    if (change.kind === 'none') return NONE;
    const [given, record] = [this.#records.get(before.record), this.#records.get(after.record)];
    if (record === undefined) return NONE;
    if (change.kind !== 'event') {
      const isOwner = record.status === 'processing' && record.owner === change.owner;
      if (change.kind === 'batch') return change.isTimely && !isOwner ? ['write_under_lease'] : NONE;
      return isOwner ? ['own_claim'] : NONE;
    }
    const violated: Property[] = [];
    if (given?.status === 'completed') violated.push('completed_final');
    if (typeof given?.response === 'string' && given.response !== record.response) violated.push('response');
    const level = this.#records.getLevel(before.record);
    const event = checkEvent(given, record, level, change.commit, this.#scenario.maxResumes);
    return event === null ? violated : [...violated, event];
  }
}

/** Checks what the audit checks of a key record and its lists, and the entries. */
function checkStored(record: KeyRecord | undefined, pairs: readonly ListPair[]): Property[] {
  const violated: Property[] = [];
  const attempts = record === undefined ? [] : getRecordedAttempts(record);
  const lists = attempts.map(({ attempt }) => attempt.creation?.price_list_id);
  const open = pairs.filter(({ cost, price }) => cost !== 'failed' || price !== 'failed');
  if (open.length > 1 || pairs.some(({ id }) => !lists.includes(id))) violated.push('one_pair');
  const documents = attempts.map(({ attempt }) => attempt.document_id);
  if (new Set(documents).size < documents.length) violated.push('one_claim');
  for (const recorded of attempts) {
    const pair = pairs.find(({ id }) => id === recorded.attempt.creation?.price_list_id);
    const broken = [
      ...checkListStatus(recorded, 'expected_forward_cost', pair && { status: pair.cost }),
      ...checkListStatus(recorded, 'price_list', pair && { status: pair.price }),
    ];
    if (broken.length > 0) violated.push(recorded.status === 'released' ? 'released_lists' : 'list_status');
  }
  const isReady = ({ cost, price }: ListPair) => cost === 'ready' || price === 'ready';
  if (pairs.some((pair) => isReady(pair) && pair.entries !== ALL_ENTRIES)) violated.push('ready_complete');
  if (record !== undefined && checkKeyRecord(record, keyDocumentId(record.boq_list_id)).length > 0)
    violated.push('response');
  return violated;
}

function checkActors({ actors }: State, record: KeyRecord | undefined): readonly Property[] {
  if (record === undefined) return NONE;
  let working = 0;
  for (const { at, owner, result } of actors) {
    if (WORKING.has(at) && owner === record.owner) working += 1;
    if (result?.kind !== 'response') continue;
    const isOwn = record.response === result.response && record.fingerprint === result.payload;
    if (record.status !== 'completed' || !isOwn) return ['own_response'];
  }
  return record.status === 'processing' && working > 1 ? ['one_owner'] : NONE;
}

const WORKING: ReadonlySet<string> = new Set(['work', 'write', 'renew', 'complete', 'fail']);

/** Returns the property that the commit of an event violates; null: none. @param level of the lease before it */
function checkEvent(
  given: KeyRecord | undefined,
  record: KeyRecord,
  level: number,
  { event, owner: sender, documentId }: Commit,
  maxResumes: number,
): Property | null {
  if (given?.document_id !== record.document_id || (event === 'submitted' && record.status === 'processing')) {
    return given === undefined || given.status === 'released' ? null : 'claim';
  }
  const isOwner = given.status === 'processing' && given.owner === sender;
  if (['renewed', 'completed', 'failed'].includes(event)) {
    // An event of an owner whose lease expired may store that, as any reader's.
    const isExpiry =
      record.status === 'requires_review' && record.failure_cause === 'lease_expired' && level < LEAST_SAFE_LEVEL;
    return isOwner || isExpiry ? null : 'only_owner';
  }
  if (given.status === 'processing' && level >= LEAST_SAFE_LEVEL) return 'lease_kept';
  // A decision without effect may store that the lease expired, as any reader's event.
  const isTaken = record.status === (event === 'released' ? 'released' : 'processing');
  if (!isTaken) return null;
  if (record.document_id !== documentId || given.status === 'released') return 'decision';
  const isBySweep = event === 'resumed' && record.automatic_resumes > 0;
  if (!isBySweep) return null;
  const cause = given.status === 'processing' ? 'lease_expired' : given.failure_cause;
  return isTransientCause(cause) && record.automatic_resumes <= maxResumes ? null : 'sweep_limit';
}

/** Whether a state is one that every other must be able to reach. */
export function isSettled({ actors, record: index, payloads }: State, { records, scenario }: Moves): boolean {
  if (actors.some(({ at }) => at !== 'idle')) return false;
  const record = records.get(index);
  if (record === undefined || record.status === 'released' || record.status === 'completed') return true;
  const isSwept = scenario.actors.some(({ role }) => role === 'sweep');
  // Without a sweep an operator is who finds that a lease expired.
  if (!isSwept) return record.status === 'requires_review' || records.getLevel(index) === 0;
  if (record.status === 'processing') return false;
  return getSweepObstacle(record, scenario.maxResumes) !== null || !payloads.includes(record.document_id);
}
