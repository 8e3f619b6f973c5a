import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { isTransientCause } from '../../src/price-lists/key-state-machine';

/**
 * What one commit may make of a key, without ids and times: every commit of the schedules and of the matrices is one of
 * these moves (monitor.ts), whichever process it is of.
 */

/** Statuses of both lists of the attempt that a record shows; undefined for a list that does not exist. */
export type ListStatuses = readonly [cost: string | undefined, price: string | undefined];

/** Describes what a commit made of a key: `processing → completed, owner same, attempt same, resumes same, lists ready`. */
export function describeKeyMove(before: KeyRecord | undefined, after: KeyRecord, lists: ListStatuses): string {
  const resumes = describeResumes(before, after);
  const owner = after.owner === '' ? 'none' : before?.owner === after.owner ? 'same' : 'new';
  const attempt = before?.document_id === after.document_id ? 'same' : 'new';
  const status = new Set(after.creation === null ? ['none'] : lists.map((each) => each ?? 'missing'));
  return [
    `${describeStatus(before)} → ${describeStatus(after)}`,
    `owner ${owner}`,
    `attempt ${attempt}`,
    `resumes ${resumes}`,
    `lists ${[...status].join(' and ')}`,
  ].join(', ');
}

function describeStatus(record: KeyRecord | undefined): string {
  if (record?.status !== 'requires_review') return record?.status ?? 'nothing';
  return isTransientCause(record.failure_cause) ? 'requires_review (transient)' : 'requires_review (permanent)';
}

function describeResumes(before: KeyRecord | undefined, after: KeyRecord): string {
  const [from, to] = [before?.automatic_resumes ?? 0, after.automatic_resumes];
  if (from === to) return 'same';
  return to === 0 ? 'none' : `${to - from} more`;
}

/** Moves of a key whose market exists, so that there are lists. */
const MOVES = [
  'nothing → processing, owner new, attempt new, resumes same, lists processing',
  'processing → completed, owner same, attempt same, resumes same, lists ready',
  'processing → processing, owner new, attempt same, resumes 1 more, lists failed',
  'processing → processing, owner new, attempt same, resumes 1 more, lists processing',
  'processing → processing, owner new, attempt same, resumes none, lists failed',
  'processing → processing, owner new, attempt same, resumes none, lists processing',
  'processing → processing, owner new, attempt same, resumes same, lists failed',
  'processing → processing, owner new, attempt same, resumes same, lists processing',
  'processing → processing, owner same, attempt same, resumes same, lists failed',
  'processing → processing, owner same, attempt same, resumes same, lists processing',
  'processing → released, owner none, attempt same, resumes same, lists failed',
  'processing → requires_review (transient), owner none, attempt same, resumes same, lists failed',
  'processing → requires_review (transient), owner same, attempt same, resumes same, lists failed',
  'processing → requires_review (transient), owner same, attempt same, resumes -1 more, lists failed',
  'processing → requires_review (transient), owner same, attempt same, resumes none, lists failed',
  'processing → requires_review (permanent), owner none, attempt same, resumes same, lists failed',
  'processing → requires_review (permanent), owner same, attempt same, resumes same, lists failed',
  'released → processing, owner new, attempt new, resumes none, lists processing',
  'released → processing, owner new, attempt new, resumes same, lists processing',
  'requires_review (transient) → processing, owner new, attempt same, resumes 1 more, lists failed',
  'requires_review (transient) → processing, owner new, attempt same, resumes none, lists failed',
  'requires_review (transient) → processing, owner new, attempt same, resumes same, lists failed',
  'requires_review (transient) → released, owner none, attempt same, resumes same, lists failed',
  'requires_review (transient) → released, owner same, attempt same, resumes same, lists failed',
  'requires_review (transient) → requires_review (permanent), owner none, attempt same, resumes same, lists failed',
  'requires_review (transient) → requires_review (permanent), owner same, attempt same, resumes same, lists failed',
  'requires_review (permanent) → processing, owner new, attempt same, resumes none, lists failed',
  'requires_review (permanent) → processing, owner new, attempt same, resumes same, lists failed',
  'requires_review (permanent) → released, owner none, attempt same, resumes same, lists failed',
  'requires_review (permanent) → released, owner same, attempt same, resumes same, lists failed',
];

/** The same without a market; a claim that holds the whole payload then completes. */
const MOVES_WITHOUT_LISTS = [
  'nothing → completed, owner new, attempt new, resumes same, lists none',
  'released → completed, owner new, attempt new, resumes same, lists none',
  ...MOVES.map((move) => move.replace(/lists \w+$/, 'lists none')),
];

/** Every move of a key. A commit that makes anything else of one is an error of the service, or of this table. */
export const KEY_MOVES: ReadonlySet<string> = new Set([...MOVES, ...MOVES_WITHOUT_LISTS]);
