import { LEASE_DURATION_MS } from '../../src/lib/runtime-options';
import type { FailureCause, KeyRecord } from '../../src/lib/schemas/key-record';
import type { KeyEvent, KeyOutcome, transition } from '../../src/price-lists/key-state-machine';

/**
 * The explored state: what is stored of one key, and where each actor is. Two states with the same future have the same
 * text ({@link encodeState}), so the explorer expands each once.
 *
 * Time is only what a lease has left, in levels. One move of time lowers every lease by one level, 20 s.
 */

/** Upper ends of the levels in ms. A lease is due for renewal from level 2; clocks in the margin may end it from level 1. */
const LEVEL_MS = [0, 10_000, 30_000, LEASE_DURATION_MS] as const;

export const FULL_LEASE = LEVEL_MS.length - 1;

/** By how much the clocks of two processes may differ: docs/reliability.md, "Timeouts". */
export const CLOCK_MARGIN_MS = LEVEL_MS[1];

/** The lowest level at which no clock in the margin sees the lease as expired. */
export const LEAST_SAFE_LEVEL = 2;

/** Parts of an attempt's work, as bits of a set. */
export const COST_ENTRIES = 1;
export const PRICE_ENTRIES = 2;
/** The chunk of the payload that did not fit the claim. */
export const LAST_CHUNK = 4;
export const ALL_ENTRIES = COST_ENTRIES | PRICE_ENTRIES;

export type ListStatus = 'processing' | 'failed' | 'ready';

/** The two lists of one claim. */
export interface ListPair {
  readonly id: string;
  readonly cost: ListStatus;
  readonly price: ListStatus;
  /** Which of both lists have their entries. */
  readonly entries: number;
}

/** A commit that changes the key, as its sender computed it from what it read. */
export interface Commit {
  readonly event: KeyEvent['kind'];
  /** Whether the record is still the one that was read. Only a broken protocol commits what no longer is. */
  readonly isCurrent: boolean;
  /** Whether no record was read. */
  readonly creates: boolean;
  /** Index of the record after the commit. */
  readonly record: number;
  readonly lists: 'unchanged' | 'created' | 'ready' | 'failed';
  /** What the record then means for the sender. */
  readonly outcome: KeyOutcome['kind'];
  /** Owner token of the sender; empty for a release and a sweep that leaves the key. */
  readonly owner: string;
  /** The attempt that the sender works on or decided about. */
  readonly documentId: string;
}

/** The write of a batch of entries, or of a chunk. Nothing makes it conditional: it is a fixed value under a fixed id. */
export interface BatchWrite {
  readonly part: number;
  readonly lists: string;
  readonly documentId: string;
}

export type LateWrite = { readonly commit: Commit } | { readonly batch: BatchWrite };

export type Position =
  /** Nothing under way. A client has got the result of its last request. */
  | 'idle'
  | 'claim'
  /** The claim was given up, and the key is read before its request fails. */
  | 'claim_check'
  | 'work'
  | 'write'
  | 'renew'
  | 'complete'
  | 'fail'
  | 'resume'
  | 'release'
  /** A sweep leaves the key to an operator. */
  | 'leave'
  /** The same, since it cannot use the payload. */
  | 'leave_unusable';

export interface Actor {
  /** Of {@link internActor}; of a copy that is not interned yet it means nothing. */
  readonly number: number;
  readonly at: Position;
  /** Owner token of the request or the resume under way. */
  readonly owner: string;
  readonly documentId: string;
  readonly lists: string;
  /** Of the claim 1 after its first try; of the completion the parity of its tries, which its response shows. */
  readonly tries: number;
  /** Parts that are still to write. */
  readonly pending: number;
  /** The part under way at `write`. */
  readonly part: number;
  /** Level of its lease, as the owner knows it. */
  readonly lease: number;
  /** Levels of time since the batch under way was sent. */
  readonly levelsWaited: number;
  readonly cause: FailureCause;
  readonly commit: Commit | null;
  /** Requests or decisions that it may still begin. */
  readonly left: number;
  /** The result of its last request: the response of a 200, else the kind of its rejection. */
  readonly result: ClientResult | null;
}

export type ClientResult =
  | { readonly kind: 'response'; readonly response: string; readonly payload: string }
  | { readonly kind: 'rejected' | 'lost' };

export interface State {
  /** Index of the key record; 0: there is none. */
  readonly record: number;
  readonly pairs: readonly ListPair[];
  /** `document_id` of each attempt whose payload is stored completely. */
  readonly payloads: readonly string[];
  readonly actors: readonly Actor[];
  /** Writes whose sender no longer waits for them. */
  readonly late: readonly LateWrite[];
  /** Faults that may still happen. */
  readonly faults: number;
}

export const idleActor = (left: number, result: ClientResult | null = null): Actor => ({
  number: -1,
  at: 'idle',
  owner: '',
  documentId: '',
  lists: '',
  tries: 0,
  pending: 0,
  part: 0,
  lease: 0,
  levelsWaited: 0,
  cause: 'error',
  commit: null,
  left,
  result,
});

/** Every actor that was met, each once, by its text. */
const actorsByText = new Map<string, Actor>();

/** Returns the one object for all equal actors. Its number makes the texts of states short. */
export function internActor(actor: Actor): Actor {
  const text = encodeActor(actor);
  const known = actorsByText.get(text);
  if (known !== undefined) return known;
  const created = { ...actor, number: actorsByText.size };
  actorsByText.set(text, created);
  return created;
}

function encodeActor(actor: Actor): string {
  const { at, owner, documentId, lists, tries, pending, part, lease, levelsWaited, cause, commit, left, result } =
    actor;
  const work = `${tries},${pending},${part},${lease},${levelsWaited},${cause},${left}`;
  const step = commit === null ? '' : encodeCommit(commit);
  return `${at},${owner},${documentId},${lists},${work},${step},${encodeResult(result)}`;
}

function encodeResult(result: ClientResult | null): string {
  if (result === null) return '';
  return result.kind === 'response' ? `200 ${result.response} ${result.payload}` : result.kind;
}

const encodeCommit = ({ event, isCurrent, creates, record, lists, outcome, owner, documentId }: Commit): string =>
  `${event},${isCurrent ? 1 : 0},${creates ? 1 : 0},${record},${lists},${outcome},${owner},${documentId}`;

const encodeLate = (write: LateWrite): string =>
  'commit' in write ? encodeCommit(write.commit) : `${write.batch.part},${write.batch.lists},${write.batch.documentId}`;

const encodePair = ({ id, cost, price, entries }: ListPair): string => `${id},${cost},${price},${entries}`;

const encodeSet = <T>(set: readonly T[], encode: (each: T) => string): string =>
  set.length < 2 ? set.map(encode).join() : set.map(encode).sort().join(';');

/** Returns the canonical text of a state: equal exactly for states that differ in nothing that any later move reads. */
export function encodeState({ record, pairs, payloads, actors, late, faults }: State): string {
  const sets = `${encodeSet(pairs, encodePair)}|${encodeSet(payloads, (id) => id)}|${encodeSet(late, encodeLate)}`;
  let text = `${record}|${faults}|${sets}`;
  for (const actor of actors) text += `|${actor.number}`;
  return text;
}

/** Times are of no moment but those of leases: every other one is this. */
const NOW = 1_000_000_000;

/** The result of an event that is applied to a record. */
export interface Applied {
  record: number;
  /** Whether there is something to commit. */
  isChanged: boolean;
  outcome: KeyOutcome['kind'];
}

/**
 * The key records of one exploration, each once under an index, with all times but the lease's left out.
 *
 * Every change of a record is one of `applyTransition`, whose results are kept: it is pure.
 */
export class KeyRecords {
  readonly #records: (KeyRecord | undefined)[] = [undefined];
  readonly #indices = new Map<string, number>();
  readonly #applied = new Map<string, Applied>();
  readonly #aged: number[] = [];

  constructor(private readonly applyTransition: typeof transition) {}

  get(index: number): KeyRecord | undefined {
    return this.#records[index];
  }

  /** Level of the lease of a record in progress; 0 for any other. */
  getLevel(index: number): number {
    const record = this.get(index);
    return record?.status === 'processing' ? getLevel(record) : 0;
  }

  /** Applies an event by a clock that is so far ahead. */
  apply(index: number, event: KeyEvent, clockAheadMs: number): Applied {
    const id = `${index} ${clockAheadMs} ${JSON.stringify(event)}`;
    let applied = this.#applied.get(id);
    if (applied === undefined) {
      const given = this.get(index);
      const { record, outcome } = this.applyTransition(given, event, NOW + clockAheadMs);
      const isChanged = record !== undefined && record !== given;
      applied = { record: isChanged ? this.#intern(record) : index, isChanged, outcome: outcome.kind };
      this.#applied.set(id, applied);
    }
    return applied;
  }

  /** Returns the record after one move of time. */
  age(index: number): number {
    const aged = this.#aged[index];
    if (aged !== undefined) return aged;
    const level = this.getLevel(index);
    const record = this.get(index);
    const result =
      record === undefined || level === 0
        ? index
        : this.#intern({ ...record, lease_expires_at: NOW + (LEVEL_MS[level - 1] ?? 0) });
    this.#aged[index] = result;
    return result;
  }

  #intern(record: KeyRecord): number {
    const canonical = toCanonical(record);
    const text = JSON.stringify(canonical);
    let index = this.#indices.get(text);
    if (index === undefined) {
      index = this.#records.push(canonical) - 1;
      this.#indices.set(text, index);
    }
    return index;
  }
}

const getLevel = ({ lease_expires_at }: KeyRecord): number =>
  Math.max(
    0,
    LEVEL_MS.findLastIndex((ms) => lease_expires_at - NOW >= ms),
  );

/** Of the actions their kinds are kept, which invariants.ts reads, and of texts for people nothing. */
const toCanonical = (record: KeyRecord): KeyRecord => ({
  ...record,
  claimed_at: NOW,
  updated_at: NOW,
  lease_expires_at: NOW + (record.status === 'processing' ? (LEVEL_MS[getLevel(record)] ?? 0) : 0),
  failure: null,
  progress: null,
  history: record.history.map((attempt) => ({
    ...attempt,
    claimed_at: NOW,
    lease_expires_at: NOW,
    settled_at: NOW,
    failure: null,
  })),
  actions: (['resume', 'release'] as const)
    .filter((kind) => record.actions.some(({ action }) => action === kind))
    .map((action) => ({ action, at: NOW, by: '', reason: null })),
});

/** Returns the time that `completedAt` of an event stands for. */
export const EVENT_TIME = NOW;
