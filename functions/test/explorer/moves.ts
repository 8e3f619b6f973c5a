import type { Attempt, Creation, FailureCause } from '../../src/lib/schemas/key-record';
import {
  getSweepObstacle,
  transition,
  type KeyEvent,
  type KeyOutcome,
  type ResumeDecision,
  type SubmittedAttempt,
} from '../../src/price-lists/key-state-machine';
import {
  ALL_ENTRIES,
  COST_ENTRIES,
  EVENT_TIME,
  idleActor,
  internActor,
  KeyRecords,
  LAST_CHUNK,
  LEAST_SAFE_LEVEL,
  PRICE_ENTRIES,
  type Actor,
  type ClientResult,
  type BatchWrite,
  type Commit,
  type LateWrite,
  type ListPair,
  type ListStatus,
  type State,
} from './state';

/**
 * The moves of the protocol: what each actor may do next in a state, and each fault that may happen to it. An event of a key
 * is two moves, as it is two calls: the read, from which the commit is computed, and the commit.
 *
 * Changes of the key record are those of the real `transition()`. What surrounds it is restated here from apply-event.ts,
 * claim.ts, lease.ts, attempt.ts, resume.ts, release.ts and sweep.ts.
 */

/** What the protocol relies on outside `transition()`: a test of the explorer passes one that is broken. */
export interface CommitConditions {
  /** Whether the commit is rejected if the record changed since it was read: `setKey` in repositories/price-lists.ts. */
  isConditional: (commit: Commit) => boolean;
  /** What the commit of an event makes of the lists: `hasEnded` in apply-event.ts, and `setListStatuses`. */
  getListChange: (end: ListChange) => ListChange;
  /** Which of both lists change with their key. */
  changedLists: number;
  /** Whether a try of a write first renews the lease: `renewIfDue` in lease.ts. */
  isRenewalDue: (level: number) => boolean;
  /** Whether a resume may begin: `readStoredPayload` in resume.ts. */
  isPayloadUsable: (isStored: boolean) => boolean;
  /** Whether an attempt may complete with these parts still to write: the order of steps in create-price-lists.ts. */
  mayComplete: (pending: number) => boolean;
}

export type ListChange = Commit['lists'];

export interface Protocol {
  transition: typeof transition;
  conditions: CommitConditions;
}

export const PROTOCOL: Protocol = {
  transition,
  conditions: {
    isConditional: () => true,
    getListChange: (end) => end,
    changedLists: ALL_ENTRIES,
    isRenewalDue: (level) => level <= LEAST_SAFE_LEVEL,
    isPayloadUsable: (isStored) => isStored,
    mayComplete: (pending) => pending === 0,
  },
};

interface ActorBase {
  name: string;
  /** By how much its clock is ahead of the owners'. */
  clockAheadMs?: number;
}

/** Sends a payload so many times, each time as a new request. */
export interface Client extends ActorBase {
  role: 'client';
  payload: string;
  requests: number;
}

/** Resumes or releases an attempt, so many times. */
export interface Operator extends ActorBase {
  role: 'operator';
  decisions: number;
}

/** Scans as often as there is something to do. */
export interface SweepActor extends ActorBase {
  role: 'sweep';
}

export type ActorSpec = Client | Operator | SweepActor;

export interface Scenario {
  name: string;
  actors: readonly ActorSpec[];
  /** Two: the second is stored after the claim. */
  chunks: 1 | 2;
  /** Without a market there are no lists, and the claim is the completion. */
  hasMarket?: false;
  /** Faults that may happen, in any order and to any actor. */
  faults: number;
  /** How often a sweep resumes an attempt. */
  maxResumes: number;
  /** Names of the moves that lead to the first state; their faults are not counted. */
  prologue?: readonly string[];
}

/** What a move changed, as far as the next state does not tell. */
export type Change =
  | { kind: 'none' }
  | { kind: 'event'; commit: Commit }
  /** `owner` of the sender; `isTimely`: it took no longer than a commit may. */
  | { kind: 'batch'; owner: string; isTimely: boolean }
  /** A request has got its result. */
  | { kind: 'result'; owner: string; outcome: KeyOutcome['kind'] };

export interface Move {
  /** The step as a person would tell it. */
  name: string;
  next: State;
  isFault: boolean;
  change: Change;
}

const UNCHANGED: Change = { kind: 'none' };

export const getInitialState = ({ actors, faults }: Scenario): State => ({
  record: 0,
  pairs: [],
  payloads: [],
  actors: actors.map((spec) => {
    if (spec.role === 'sweep') return internActor(idleActor(0));
    return internActor(idleActor(spec.role === 'client' ? spec.requests : spec.decisions));
  }),
  late: [],
  faults,
});

/** The moves of one scenario under one protocol. */
export class Moves {
  readonly records: KeyRecords;
  #moves: Move[] = [];

  constructor(
    readonly scenario: Scenario,
    private readonly protocol: Protocol,
  ) {
    this.records = new KeyRecords(protocol.transition);
  }

  /** Returns every move that is possible in a state. */
  list(state: State): Move[] {
    this.#moves = [];
    for (const [index, spec] of this.scenario.actors.entries()) {
      const actor = getActor(state, index);
      if (actor.at === 'idle') this.#begin(state, index, spec);
      else this.#goOn(state, index, spec);
    }
    for (const write of state.late) this.#landLate(state, write);
    this.#passTime(state);
    return this.#moves;
  }

  #add(name: string, next: State, change: Change = UNCHANGED): void {
    this.#moves.push({ name, next: this.#prune(next), isFault: false, change });
  }

  #addFault(name: string, next: State, change: Change = UNCHANGED): void {
    const faulty = { ...next, faults: next.faults - 1 };
    this.#moves.push({ name, next: this.#prune(faulty), isFault: true, change });
  }

  /** Drops late commits that will be rejected: nobody waits for them. */
  #prune(state: State): State {
    const mayLand = (write: LateWrite) =>
      !('commit' in write) || write.commit.isCurrent || !this.protocol.conditions.isConditional(write.commit);
    return state.late.every(mayLand) ? state : { ...state, late: state.late.filter(mayLand) };
  }

  /** The moves of an actor that has nothing under way. */
  #begin(state: State, index: number, spec: ActorSpec): void {
    switch (spec.role) {
      case 'client':
        this.#beginRequest(state, index, spec);
        break;
      case 'operator':
        this.#beginDecision(state, index, spec);
        break;
      case 'sweep':
        this.#scan(state, index, spec);
        break;
    }
  }

  #beginRequest(state: State, index: number, { name, requests }: Client): void {
    const { left, result } = getActor(state, index);
    if (left === 0 || result?.kind === 'response') return;
    const id = `${name}/${requests - left + 1}`;
    const started: Actor = { ...idleActor(left - 1), at: 'claim', owner: id, documentId: id };
    this.#readKey(setActor(state, index, started), index);
  }

  /** An operator decides about the attempt that `list` shows, whatever its status. */
  #beginDecision(state: State, index: number, { name }: Operator): void {
    const { left } = getActor(state, index);
    const record = this.records.get(state.record);
    if (left === 0 || record === undefined) return;
    const decided: Actor = { ...idleActor(left - 1), documentId: record.document_id };
    this.#add(
      `${name} decides to release ${record.document_id}`,
      setActor(state, index, { ...decided, at: 'release', owner: '' }),
    );
    if (!this.#isPayloadUsable(state, record.document_id)) return;
    const owner = this.#getNewToken(state, name);
    this.#add(
      `${name} decides to resume ${record.document_id}`,
      setActor(state, index, { ...decided, at: 'resume', owner }),
    );
  }

  /** A scan that finds the key due; one that does not changes nothing. */
  #scan(state: State, index: number, spec: SweepActor): void {
    const checked = this.#apply(state, { kind: 'leaseChecked', caller: null }, spec);
    const record = this.records.get(checked.record);
    if (record?.status !== 'requires_review') return;
    const { document_id: documentId } = record;
    const leave = (at: 'leave' | 'leave_unusable') =>
      this.#add(
        `${spec.name} finds ${documentId} and leaves it`,
        setActor(state, index, { ...idleActor(0), at, documentId }),
      );
    if (getSweepObstacle(record, this.scenario.maxResumes) !== null) {
      // Another sweep, or the same one before, has stored that the lease expired.
      if (checked.isChanged) leave('leave');
      return;
    }
    if (!this.#isPayloadUsable(state, documentId)) {
      leave('leave_unusable');
      return;
    }
    const found: Actor = { ...idleActor(0), at: 'resume', owner: this.#getNewToken(state, spec.name), documentId };
    this.#add(`${spec.name} finds ${documentId} due`, setActor(state, index, found));
  }

  #isPayloadUsable(state: State, documentId: string): boolean {
    return this.protocol.conditions.isPayloadUsable(state.payloads.includes(documentId));
  }

  /** Returns a token that nothing holds any more: one that is forgotten is as good as a new one. */
  #getNewToken({ record, actors, late }: State, name: string): string {
    const commits = [
      ...actors.flatMap(({ commit }) => commit ?? []),
      ...late.flatMap((write) => ('commit' in write ? write.commit : [])),
    ];
    const indices = [record, ...commits.map((commit) => commit.record)];
    const known = new Set([
      ...indices.map((each) => this.records.get(each)?.owner),
      ...actors.map(({ owner }) => owner),
      ...commits.map(({ owner }) => owner),
    ]);
    let n = 1;
    while (known.has(`${name}/${n}`)) n += 1;
    return `${name}/${n}`;
  }

  /** Returns the id of a pair of lists that nothing holds. */
  #getNewLists({ pairs, late }: State, { documentId }: Actor): string {
    const commits = late.flatMap((write) => ('commit' in write ? write.commit : []));
    const known = [
      ...pairs.map(({ id }) => id),
      ...commits.map(({ record }) => this.records.get(record)?.creation?.price_list_id),
    ];
    let n = 1;
    while (known.includes(`${documentId}.${n}`)) n += 1;
    return `${documentId}.${n}`;
  }

  /** The moves of an actor with something under way, and its faults. */
  #goOn(state: State, index: number, spec: ActorSpec): void {
    const actor = getActor(state, index);
    if (actor.commit !== null) this.#landCommit(state, index, spec, actor.commit);
    else if (actor.at === 'write') this.#landBatch(state, index, spec);
    else if (actor.at === 'work') this.#work(state, index, spec);
    else this.#readKey(state, index);
    if (state.faults > 0) this.#addFaults(state, index, spec);
  }

  /** Reads the key for the event of the actor's position, and computes the commit. */
  #readKey(state: State, index: number): void {
    const spec = this.#getSpec(index);
    const reader = getActor(state, index);
    // Each try of a claim creates the ids of its lists.
    const actor = reader.at === 'claim' ? { ...reader, lists: this.#getNewLists(state, reader) } : reader;
    const event = this.#getEvent(actor, spec);
    const { record, isChanged, outcome } = this.#apply(state, event, spec);
    const name = `${spec.name} reads the key: ${event.kind}`;
    if (!isChanged) {
      this.#takeOutcome(`${name}, ${outcome}`, state, index, outcome);
      return;
    }
    const commit: Commit = {
      event: event.kind,
      isCurrent: true,
      creates: state.record === 0,
      record,
      lists: this.#getListChange(state.record, record, actor),
      outcome,
      owner: actor.owner,
      documentId: actor.documentId,
    };
    this.#add(name, setActor(state, index, { ...reader, commit }));
  }

  get #hasMarket(): boolean {
    return this.scenario.hasMarket ?? true;
  }

  #apply(state: State, event: KeyEvent, { clockAheadMs = 0 }: ActorSpec) {
    return this.records.apply(state.record, event, clockAheadMs);
  }

  #getListChange(before: number, after: number, { documentId, at }: Actor): ListChange {
    const { getListChange } = this.protocol.conditions;
    const [given, record] = [this.records.get(before), this.records.get(after)];
    const isClaimed = at === 'claim' && record?.document_id === documentId && given?.document_id !== documentId;
    if (isClaimed) return 'created';
    const hasEnded = given?.status === 'processing' && record?.status !== 'processing';
    if (!hasEnded) return getListChange('unchanged');
    return getListChange(record?.status === 'completed' ? 'ready' : 'failed');
  }

  #getEvent(actor: Actor, spec: ActorSpec): KeyEvent {
    const { owner, documentId } = actor;
    switch (actor.at) {
      case 'claim': {
        const attempt = this.#toAttempt(actor, spec);
        const response = this.#hasMarket ? null : `${documentId} without lists, try ${actor.tries}`;
        return { kind: 'submitted', boqListId: 'key', attempt, response };
      }
      case 'claim_check':
        return { kind: 'leaseChecked', caller: this.#toAttempt(actor, spec) };
      case 'renew':
        return {
          kind: 'renewed',
          attempt: this.#toWorkedAttempt(actor),
          progress: { entries_written: 0, entries_total: 0, started_at: 0 },
        };
      case 'complete': {
        // The response contains the time of its try, so that of a repeated try differs.
        const response = `${actor.lists} by ${owner}, try ${actor.tries}`;
        return { kind: 'completed', attempt: this.#toWorkedAttempt(actor), response, completedAt: EVENT_TIME };
      }
      case 'fail':
        return { kind: 'failed', attempt: this.#toWorkedAttempt(actor), reason: '', cause: actor.cause };
      case 'resume':
        return { kind: 'resumed', document_id: documentId, attempt: { owner }, ...this.#toDecision(spec) };
      case 'release':
        return { kind: 'released', document_id: documentId, by: spec.name, reason: null };
      case 'leave':
        return { kind: 'leaseChecked', caller: null };
      case 'leave_unusable':
        return { kind: 'payloadUnusable', document_id: documentId, reason: '' };
      case 'idle':
      case 'work':
      case 'write':
        throw new Error(`${spec.name} sends no event at ${actor.at}`);
    }
  }

  #toAttempt({ owner, documentId, lists }: Actor, spec: ActorSpec): SubmittedAttempt {
    return {
      owner,
      document_id: documentId,
      fingerprint: spec.role === 'client' ? spec.payload : this.#getPayload(documentId),
      fingerprint_version: 1,
      products_count: 1,
      market_id: 'market',
      trace_id: null,
      payload_chunks: this.scenario.chunks,
      creation: this.#hasMarket ? createCreation(lists) : null,
    };
  }

  /** Returns the attempt as its owner knows it, less what no event reads. */
  #toWorkedAttempt({ owner, documentId }: Actor): Attempt {
    const times = { claimed_at: EVENT_TIME, lease_expires_at: EVENT_TIME };
    const rest = {
      products_count: 1,
      market_id: 'market',
      trace_id: null,
      payload_chunks: 1,
      creation: null,
      fingerprint_version: 1,
    };
    return { owner, document_id: documentId, fingerprint: this.#getPayload(documentId), ...rest, ...times };
  }

  #toDecision({ role, name }: ActorSpec): ResumeDecision {
    return { by: name, reason: null, maxResumes: role === 'sweep' ? this.scenario.maxResumes : null };
  }

  #getPayload(documentId: string): string {
    for (const spec of this.scenario.actors) {
      if (spec.role === 'client' && documentId.startsWith(`${spec.name}/`)) return spec.payload;
    }
    throw new Error(`no client sends ${documentId}`);
  }

  #getSpec(index: number): ActorSpec {
    const spec = this.scenario.actors[index];
    if (spec === undefined) throw new Error(`no actor ${index}`);
    return spec;
  }

  /** Continues an actor with what the key is to it. */
  #takeOutcome(name: string, state: State, index: number, outcome: KeyOutcome['kind'], change = UNCHANGED): void {
    const actor = getActor(state, index);
    const spec = this.#getSpec(index);
    const move = (next: Actor) => this.#add(name, setActor(state, index, next), change);
    switch (actor.at) {
      case 'claim':
      case 'claim_check':
      case 'resume':
        if (outcome === 'owned') move(this.#startWork(state, actor, spec));
        else this.#endRequest(name, state, index, outcome, change);
        return;
      case 'renew':
        if (outcome === 'owned') {
          move({ ...actor, at: 'work', commit: null, lease: this.#toKnownLevel(this.records.getLevel(state.record)) });
        } else move(stopWork(actor, 'error'));
        return;
      case 'complete':
      case 'fail':
        this.#endRequest(name, state, index, outcome, change);
        return;
      case 'release':
      case 'leave':
      case 'leave_unusable':
        move(idleActor(actor.left));
        return;
      case 'idle':
      case 'work':
      case 'write':
        throw new Error(`${spec.name} waits for no outcome at ${actor.at}`);
    }
  }

  #startWork(state: State, { left }: Actor, { role }: ActorSpec): Actor {
    const record = this.records.get(state.record);
    const lists = record?.creation?.price_list_id;
    if (record === undefined || lists === undefined) throw new Error('an attempt without lists');
    const { owner, document_id: documentId } = record;
    const missing = ALL_ENTRIES & ~(state.pairs.find(({ id }) => id === lists)?.entries ?? 0);
    // A resume writes what can be read of the payload.
    const readable = state.payloads.includes(documentId) ? missing : 0;
    const pending = role === 'client' ? ALL_ENTRIES | (this.scenario.chunks === 2 ? LAST_CHUNK : 0) : readable;
    const lease = this.#toKnownLevel(this.records.getLevel(state.record));
    return { ...idleActor(left), at: 'work', owner, documentId, lists, pending, lease };
  }

  /** Ends the request or the resume of an actor. */
  #endRequest(name: string, state: State, index: number, outcome: KeyOutcome['kind'], change: Change): void {
    const { left, owner } = getActor(state, index);
    const spec = this.#getSpec(index);
    if (spec.role !== 'client') {
      this.#add(name, setActor(state, index, idleActor(left)), change);
      return;
    }
    const response = outcome === 'completed' ? this.records.get(state.record)?.response : undefined;
    const result: ClientResult =
      typeof response === 'string' ? { kind: 'response', response, payload: spec.payload } : { kind: 'rejected' };
    const ended: Change = change.kind === 'none' ? { kind: 'result', owner, outcome } : change;
    this.#add(name, setActor(state, index, idleActor(left, result)), ended);
  }

  /** One try of a write: the renewal that is due, the next batch, or the completion. */
  #work(state: State, index: number, { name }: ActorSpec): void {
    const actor = getActor(state, index);
    const { isRenewalDue, mayComplete } = this.protocol.conditions;
    if (isRenewalDue(actor.lease)) {
      this.#readKey(setActor(state, index, { ...actor, at: 'renew' }), index);
      return;
    }
    const part = [LAST_CHUNK, COST_ENTRIES, PRICE_ENTRIES].find((each) => actor.pending & each);
    if (part !== undefined) {
      this.#add(`${name} sends ${PART_NAMES[part]}`, setActor(state, index, { ...actor, at: 'write', part }));
    }
    // Between this look at the lease and the read of the key the process may freeze.
    if (mayComplete(actor.pending)) {
      this.#add(`${name} begins to complete`, setActor(state, index, { ...actor, at: 'complete' }));
    }
  }

  /** Makes a commit take effect, and every other one that depends on the same record be rejected. */
  #applyCommit(state: State, commit: Commit): State {
    const { isConditional, changedLists } = this.protocol.conditions;
    const creation = this.records.get(commit.record)?.creation;
    const id = creation?.price_list_id ?? '';
    const actors = state.actors.map((actor) => {
      if (actor.commit?.isCurrent !== true) return actor;
      // Its commit will be rejected, whenever it arrives: the sender reads again.
      if (isConditional(actor.commit)) return internActor(repeatTry(actor));
      return internActor({ ...actor, commit: { ...actor.commit, isCurrent: false } });
    });
    const late = state.late.map((write) =>
      'commit' in write ? { commit: { ...write.commit, isCurrent: false } } : write,
    );
    const changed = { ...state, record: commit.record, actors, late };
    if (commit.lists === 'unchanged') return changed;
    if (commit.lists === 'created') {
      const pair: ListPair = { id, cost: 'processing', price: 'processing', entries: 0 };
      const payloads = this.scenario.chunks === 1 ? addTo(state.payloads, commit.documentId) : state.payloads;
      if (!this.#hasMarket) return { ...changed, payloads };
      return { ...changed, pairs: [...state.pairs.filter((each) => each.id !== id), pair], payloads };
    }
    const status: ListStatus = commit.lists;
    const pairs = state.pairs.map((pair) => {
      if (pair.id !== id) return pair;
      const cost = changedLists & COST_ENTRIES ? status : pair.cost;
      return { ...pair, cost, price: changedLists & PRICE_ENTRIES ? status : pair.price };
    });
    return { ...changed, pairs };
  }

  /** The commit takes effect, and its sender gets to know; or it does not. */
  #landCommit(state: State, index: number, { name }: ActorSpec, commit: Commit): void {
    const actor = getActor(state, index);
    const repeated = repeatTry(actor);
    const change: Change = { kind: 'event', commit };
    const committed = this.#applyCommit(setActor(state, index, { ...actor, commit: null }), commit);
    const text = `${name} commits: ${commit.event}, ${commit.outcome}`;
    this.#takeOutcome(text, committed, index, commit.outcome, change);
    if (state.faults === 0) return;
    this.#addFault(
      `${name} commits: ${commit.event}, and the reply is lost`,
      setActor(committed, index, repeated),
      change,
    );
    // Nothing is committed, if this one never takes effect.
    const late = { ...state, late: [...state.late, { commit }] };
    this.#addFault(
      `${name} gets an error, the commit is still under way: ${commit.event}`,
      setActor(late, index, repeated),
    );
  }

  #applyBatch(state: State, { part, lists, documentId }: BatchWrite): State {
    if (part === LAST_CHUNK) return { ...state, payloads: addTo(state.payloads, documentId) };
    const pairs = state.pairs.map((pair) => (pair.id === lists ? { ...pair, entries: pair.entries | part } : pair));
    return { ...state, pairs };
  }

  #landBatch(state: State, index: number, { name }: ActorSpec): void {
    const actor = getActor(state, index);
    const { part, pending, lists, documentId, owner, levelsWaited } = actor;
    const batch: BatchWrite = { part, lists, documentId };
    const change: Change = { kind: 'batch', owner, isTimely: levelsWaited <= MAX_COMMIT_LEVELS };
    const written = this.#applyBatch(state, batch);
    const repeated: Actor = { ...actor, at: 'work', part: 0, levelsWaited: 0 };
    const text = `${name} writes ${PART_NAMES[part]}`;
    this.#add(text, setActor(written, index, { ...repeated, pending: pending & ~part }), change);
    if (state.faults === 0) return;
    this.#addFault(`${text}, and the reply is lost`, setActor(written, index, repeated), change);
    const late = { ...state, late: [...state.late, { batch }] };
    this.#addFault(`${name} gets an error, ${PART_NAMES[part]} still under way`, setActor(late, index, repeated));
  }

  #landLate(state: State, write: LateWrite): void {
    const others = { ...state, late: state.late.filter((each) => each !== write) };
    if ('batch' in write) {
      this.#add(`late: ${PART_NAMES[write.batch.part]} of ${write.batch.lists}`, this.#applyBatch(others, write.batch));
      return;
    }
    const committed = this.#applyCommit(others, write.commit);
    this.#add(`late: the commit of ${write.commit.event} by ${write.commit.owner}`, committed, {
      kind: 'event',
      commit: write.commit,
    });
  }

  /** What may happen to an actor anywhere; the faults of its writes are with these. */
  #addFaults(state: State, index: number, { name, role }: ActorSpec): void {
    const actor = getActor(state, index);
    const { at, left, commit, lists, part, documentId, pending } = actor;
    const crashed = setActor(state, index, idleActor(left, role === 'client' ? { kind: 'lost' } : null));
    const write: LateWrite | null = commit
      ? { commit }
      : at === 'write'
        ? { batch: { part, lists, documentId } }
        : null;
    // A write under way takes effect at any time, or never.
    const late = write === null ? state.late : [...state.late, write];
    this.#addFault(`${name} crashes at ${at}`, { ...crashed, late });
    if (commit !== null) return;
    if (at === 'claim' && actor.tries > 0) {
      this.#addFault(`${name} gives its claim up`, setActor(state, index, { ...actor, at: 'claim_check', tries: 0 }));
    }
    if (at !== 'work') return;
    this.#addFault(`${name} meets a permanent error`, setActor(state, index, stopWork(actor, 'error')));
    // An attempt whose payload is not stored completely cannot be resumed: PayloadNotStoredError in attempt.ts.
    if (pending & LAST_CHUNK) return;
    this.#addFault(`${name} is stopped`, setActor(state, index, stopWork(actor, 'stopped')));
  }

  /** Lowers every lease by a level, whatever the actors are at: any of them may be frozen for any time. */
  #passTime(state: State): void {
    const record = this.records.age(state.record);
    const actors = state.actors.map((actor) => this.#ageActor(actor));
    const late = state.late.map((write) => this.#ageLate(write));
    const isAged =
      record !== state.record ||
      actors.some((actor, i) => actor !== state.actors[i]) ||
      late.some((write, i) => write !== state.late[i]);
    if (isAged) this.#add('time passes', { ...state, record, actors, late });
  }

  #ageActor(actor: Actor): Actor {
    const commit = actor.commit && this.#age(actor.commit);
    const lease = this.#toKnownLevel(actor.lease - 1);
    const levelsWaited = actor.at === 'write' ? Math.min(actor.levelsWaited + 1, MAX_COMMIT_LEVELS + 1) : 0;
    const isAged = commit !== actor.commit || lease !== actor.lease || levelsWaited !== actor.levelsWaited;
    return isAged ? internActor({ ...actor, commit, lease, levelsWaited }) : actor;
  }

  #ageLate(write: LateWrite): LateWrite {
    if ('batch' in write) return write;
    const commit = this.#age(write.commit);
    return commit === write.commit ? write : { commit };
  }

  /** An owner asks of its lease only whether the renewal is due. */
  #toKnownLevel(level: number): number {
    return level <= 0 || this.protocol.conditions.isRenewalDue(level) ? 0 : level;
  }

  #age(commit: Commit): Commit {
    const record = this.records.age(commit.record);
    return record === commit.record ? commit : { ...commit, record };
  }
}

/** Levels of time that the longest commit may take: 20 s, see connection.ts. */
const MAX_COMMIT_LEVELS = 1;

const createCreation = (lists: string): Creation => ({
  expected_forward_cost_id: lists,
  price_list_id: lists,
  market_name: null,
  market_iso: null,
  currency: 'USD',
});

const PART_NAMES: Record<number, string> = {
  [COST_ENTRIES]: 'the entries of the cost list',
  [PRICE_ENTRIES]: 'the entries of the price list',
  [LAST_CHUNK]: 'the last chunk',
};

export function getActor({ actors }: State, index: number): Actor {
  const actor = actors[index];
  if (actor === undefined) throw new Error(`no actor ${index}`);
  return actor;
}

const setActor = (state: State, index: number, actor: Actor): State => ({
  ...state,
  actors: state.actors.map((each, i) => (i === index ? internActor(actor) : each)),
});

const addTo = (all: readonly string[], one: string): readonly string[] => (all.includes(one) ? all : [...all, one]);

const stopWork = (actor: Actor, cause: FailureCause): Actor => ({
  ...actor,
  at: 'fail',
  cause,
  commit: null,
  pending: 0,
  lease: 0,
});

/** Returns the actor before its next try of the same event, which begins with a read. */
function repeatTry(actor: Actor): Actor {
  const repeated = { ...actor, commit: null };
  switch (actor.at) {
    case 'claim':
      return { ...repeated, tries: 1 };
    case 'complete':
      return { ...repeated, at: 'work', tries: 1 - actor.tries };
    case 'renew':
      return { ...repeated, at: 'work' };
    default:
      return repeated;
  }
}
