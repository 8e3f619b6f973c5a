import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../src/lib/runtime-options';
import type { KeyEvent, KeyOutcome, transition } from '../../src/price-lists/key-state-machine';
import { PROTOCOL, type CommitConditions, type Protocol } from './moves';
import type { Property } from './properties';
import type { SCENARIOS } from './scenarios';
import { COST_ENTRIES } from './state';

/**
 * Protocols of which one condition is broken. Each is passed to the explorer in place of the real one, and must violate the
 * property that the condition is for.
 */

export interface Break {
  property: Property;
  scenario: keyof typeof SCENARIOS;
  protocol: Protocol;
  /** The last step of the shortest path to the violation. */
  lastStep: RegExp;
}

type Transition = typeof transition;

const withConditions = (broken: Partial<CommitConditions>): Protocol => ({
  ...PROTOCOL,
  conditions: { ...PROTOCOL.conditions, ...broken },
});

const withTransition = (applyBroken: Transition): Protocol => ({ ...PROTOCOL, transition: applyBroken });

/** Breaks what is given to the real transition, for events of one kind. */
const withGiven = <K extends KeyEvent['kind']>(
  kind: K,
  change: (given: KeyRecord, event: Extract<KeyEvent, { kind: K }>, now: number) => Parameters<Transition>,
): Protocol =>
  withTransition((given, event, now) =>
    given !== undefined && isOfKind(event, kind)
      ? PROTOCOL.transition(...change(given, event, now))
      : PROTOCOL.transition(given, event, now),
  );

const isOfKind = <K extends KeyEvent['kind']>(event: KeyEvent, kind: K): event is Extract<KeyEvent, { kind: K }> =>
  event.kind === kind;

/** Has an event find a record of one status as if it were in another state. */
const withStatusTaken = (
  kind: KeyEvent['kind'],
  status: KeyRecord['status'],
  toTaken: (given: KeyRecord, now: number) => KeyRecord,
): Protocol =>
  withGiven(kind, (given, event, now) => [given.status === status ? toTaken(given, now) : given, event, now]);

/** Commits an event also where the record changed since it was read. */
const withoutCondition = (kind: KeyEvent['kind']): Protocol =>
  withConditions({ isConditional: ({ event }) => event !== kind });

/** Takes an event of anybody for one of the owner. */
const withForgedOwner = (kind: Extract<KeyEvent, { attempt: object }>['kind']): Protocol =>
  withGiven(kind, (given, event, now) => [given, forgeOwner(given, event), now]);

/** Makes the sender of an event its attempt's owner, whoever it is. */
const forgeOwner = <E extends Extract<KeyEvent, { attempt: object }>>(given: KeyRecord, event: E): E => ({
  ...event,
  attempt: { ...event.attempt, owner: given.owner },
});

const toProcessing = (record: KeyRecord, now: number): KeyRecord => ({
  ...record,
  status: 'processing',
  lease_expires_at: now + LEASE_DURATION_MS,
});

const blocked: KeyOutcome = { kind: 'blocked', by: 'attempt', retryAfterMs: 1_000 };

export const BREAKS: Record<string, Break> = {
  'a claim without a condition': {
    property: 'claim',
    scenario: 'onePayload',
    protocol: withConditions({ isConditional: ({ creates }) => !creates }),
    lastStep: /client . commits: submitted/,
  },
  'a claim without a condition, seen by its lists': {
    property: 'one_pair',
    scenario: 'onePayload',
    protocol: withConditions({ isConditional: ({ creates }) => !creates }),
    lastStep: /client . commits: submitted/,
  },
  'a completion without a condition': {
    property: 'only_owner',
    scenario: 'onePayload',
    protocol: withoutCondition('completed'),
    lastStep: /completed/,
  },
  'a failure without a condition': {
    property: 'completed_final',
    scenario: 'onePayload',
    protocol: withoutCondition('failed'),
    lastStep: /failed/,
  },
  'a renewal without a condition': {
    property: 'completed_final',
    scenario: 'onePayload',
    protocol: withoutCondition('renewed'),
    lastStep: /renewed/,
  },
  'a resume without a condition': {
    property: 'completed_final',
    scenario: 'onePayload',
    protocol: withoutCondition('resumed'),
    lastStep: /resumed/,
  },
  'a release without a condition': {
    property: 'completed_final',
    scenario: 'twoPayloads',
    protocol: withoutCondition('released'),
    lastStep: /released/,
  },
  'a completion by any owner': {
    property: 'only_owner',
    scenario: 'onePayload',
    protocol: withForgedOwner('completed'),
    lastStep: /completed/,
  },
  'a failure by any owner': {
    property: 'only_owner',
    scenario: 'onePayload',
    protocol: withForgedOwner('failed'),
    lastStep: /failed/,
  },
  'a renewal by any owner': {
    property: 'only_owner',
    scenario: 'onePayload',
    protocol: withForgedOwner('renewed'),
    lastStep: /renewed/,
  },
  'a renewal in any status': {
    property: 'completed_final',
    scenario: 'onePayload',
    protocol: withGiven('renewed', (given, event, now) => [toProcessing(given, now), forgeOwner(given, event), now]),
    lastStep: /renewed/,
  },
  'a completion of a completed key': {
    property: 'response',
    scenario: 'onePayload',
    protocol: withStatusTaken('completed', 'completed', toProcessing),
    lastStep: /completed/,
  },
  'a resume before the lease has expired': {
    property: 'lease_kept',
    scenario: 'onePayload',
    protocol: withGiven('resumed', (given, event, now) => [given, event, now + LEASE_DURATION_MS]),
    lastStep: /resumed/,
  },
  'a release before the lease has expired': {
    property: 'lease_kept',
    scenario: 'twoPayloads',
    protocol: withGiven('released', (given, event, now) => [given, event, now + LEASE_DURATION_MS]),
    lastStep: /released/,
  },
  'a lease that never expires': {
    property: 'liveness',
    scenario: 'onePayload',
    protocol: withTransition((given, event, now) =>
      PROTOCOL.transition(given?.status === 'processing' ? toProcessing(given, now) : given, event, now),
    ),
    lastStep: /crashes/,
  },
  'a resume that keeps the owner': {
    property: 'one_owner',
    scenario: 'onePayload',
    protocol: withForgedOwner('resumed'),
    lastStep: /resumed/,
  },
  'a renewal that is never due': {
    property: 'write_under_lease',
    scenario: 'onePayload',
    protocol: withConditions({ isRenewalDue: () => false }),
    lastStep: /writes/,
  },
  'a renewal that leaves less than the longest commit and the margin of clocks': {
    property: 'write_under_lease',
    scenario: 'twoFaults',
    protocol: withConditions({ isRenewalDue: (level) => level <= 1 }),
    lastStep: /writes/,
  },
  'a fingerprint that is not compared': {
    property: 'own_response',
    scenario: 'twoPayloads',
    protocol: withGiven('submitted', (given, event, now) => [
      given,
      { ...event, attempt: { ...event.attempt, fingerprint: given.fingerprint } },
      now,
    ]),
    lastStep: /client B reads the key: submitted, completed/,
  },
  'a claim of a key that requires review': {
    property: 'claim',
    scenario: 'onePayload',
    protocol: withStatusTaken('submitted', 'requires_review', (given) => ({ ...given, status: 'released' })),
    lastStep: /submitted/,
  },
  'a claim of a key whose attempt is in progress': {
    property: 'one_pair',
    scenario: 'onePayload',
    protocol: withStatusTaken('submitted', 'processing', (given) => ({ ...given, status: 'released' })),
    lastStep: /submitted/,
  },
  'a released attempt that claims again': {
    property: 'one_claim',
    scenario: 'twoPayloads',
    protocol: withTransition((given, event, now) => {
      if (given?.status !== 'released' || event.kind !== 'submitted') return PROTOCOL.transition(given, event, now);
      const { document_id } = event.attempt;
      const unknown = { ...event, attempt: { ...event.attempt, document_id: 'unknown' } };
      const { record, outcome } = PROTOCOL.transition(given, unknown, now);
      return { record: record && { ...record, document_id }, outcome };
    }),
    lastStep: /submitted/,
  },
  'a claim that its own request does not recognize': {
    property: 'own_claim',
    scenario: 'onePayload',
    protocol: withTransition((given, event, now) => {
      const result = PROTOCOL.transition(given, event, now);
      const isRepeated = event.kind === 'submitted' && given !== undefined && result.outcome.kind === 'owned';
      return isRepeated && result.record === given ? { ...result, outcome: blocked } : result;
    }),
    lastStep: /submitted, blocked/,
  },
  'a decision about another attempt': {
    property: 'decision',
    scenario: 'twoPayloads',
    protocol: withGiven('released', (given, event, now) => [given, { ...event, document_id: given.document_id }, now]),
    lastStep: /released/,
  },
  'a release of a completed key': {
    property: 'released_lists',
    scenario: 'twoPayloads',
    protocol: withStatusTaken('released', 'completed', (given) => ({ ...given, status: 'requires_review' })),
    lastStep: /released/,
  },
  'a resume of a released key': {
    property: 'decision',
    scenario: 'twoRequests',
    protocol: withStatusTaken('resumed', 'released', (given) => ({ ...given, status: 'requires_review' })),
    lastStep: /resumed/,
  },
  'a sweep that resumes after a permanent error': {
    property: 'sweep_limit',
    scenario: 'onePayload',
    protocol: withGiven('resumed', (given, event, now) => [
      { ...given, failure_cause: given.failure_cause === 'error' ? 'timeout' : given.failure_cause },
      event,
      now,
    ]),
    lastStep: /resumed/,
  },
  'lists that become ready one by one': {
    property: 'list_status',
    scenario: 'onePayload',
    protocol: withConditions({ changedLists: COST_ENTRIES }),
    lastStep: /failed/,
  },
  'lists that become ready when their attempt fails': {
    property: 'list_status',
    scenario: 'onePayload',
    protocol: withConditions({ getListChange: (end) => (end === 'failed' ? 'ready' : end) }),
    lastStep: /failed/,
  },
  'lists that become ready before their key is completed': {
    property: 'list_status',
    scenario: 'onePayload',
    protocol: withConditions({ getListChange: (end) => (end === 'unchanged' ? 'ready' : end) }),
    lastStep: /renewed/,
  },
  'lists that stay as they are when their attempt is released': {
    property: 'released_lists',
    scenario: 'twoPayloads',
    protocol: withConditions({ getListChange: (end) => (end === 'failed' ? 'unchanged' : end) }),
    lastStep: /released/,
  },
  'a completion before the last entry': {
    property: 'ready_complete',
    scenario: 'onePayload',
    protocol: withConditions({ mayComplete: () => true }),
    lastStep: /completed/,
  },
  'a resume of an attempt whose payload is not stored completely': {
    property: 'ready_complete',
    scenario: 'twoChunks',
    protocol: withConditions({ isPayloadUsable: () => true }),
    lastStep: /completed/,
  },
  'a released attempt that claims again after another one': {
    property: 'one_claim',
    scenario: 'lateClaim',
    protocol: withTransition((given, event, now) => {
      if (given?.status !== 'released' || event.kind !== 'submitted') return PROTOCOL.transition(given, event, now);
      const { record, outcome } = PROTOCOL.transition({ ...given, history: [] }, event, now);
      if (record?.status === 'released') return { record: given, outcome };
      return { record: record && { ...record, history: [...given.history, ...record.history] }, outcome };
    }),
    lastStep: /submitted/,
  },
  'a claim that forgets the released attempt': {
    property: 'one_pair',
    scenario: 'twoPayloads',
    protocol: withTransition((given, event, now) => {
      const result = PROTOCOL.transition(given, event, now);
      const { record } = result;
      return record === undefined || record === given ? result : { ...result, record: { ...record, history: [] } };
    }),
    lastStep: /submitted/,
  },
  'a failure of a completed key': {
    property: 'completed_final',
    scenario: 'twoFaults',
    protocol: withStatusTaken('failed', 'completed', toProcessing),
    lastStep: /failed/,
  },
  'a resume of a completed key': {
    property: 'completed_final',
    scenario: 'onePayload',
    protocol: withStatusTaken('resumed', 'completed', (given) => ({
      ...given,
      status: 'requires_review',
      failure_cause: 'timeout',
    })),
    lastStep: /resumed/,
  },
  'a resume of another attempt': {
    property: 'decision',
    scenario: 'lateClaim',
    protocol: withGiven('resumed', (given, event, now) => [given, { ...event, document_id: given.document_id }, now]),
    lastStep: /resumed/,
  },
  'a sweep that resumes more often than it may': {
    property: 'sweep_limit',
    scenario: 'twoChunks',
    protocol: withGiven('resumed', (given, event, now) => [
      given,
      { ...event, maxResumes: event.maxResumes === null ? null : Infinity },
      now,
    ]),
    lastStep: /resumed/,
  },
  'a key that completes without its response': {
    property: 'response',
    scenario: 'onePayload',
    protocol: withTransition((given, event, now) => {
      const result = PROTOCOL.transition(given, event, now);
      return event.kind === 'completed' && result.record !== undefined && result.record !== given
        ? { ...result, record: { ...result.record, response: null } }
        : result;
    }),
    lastStep: /completed/,
  },
};
