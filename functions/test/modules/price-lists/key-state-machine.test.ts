import fc from 'fast-check';
import { LEASE_DURATION_MS as LEASE_MS } from '../../../src/lib/time-limits';
import {
  LEASE_EXPIRED,
  SWEEP,
  transition,
  type CallerIdentity,
  type KeyEvent,
} from '../../../src/price-lists/key-state-machine';
import { MAX_AUTOMATIC_RESUMES } from '../../../src/price-lists/sweep-schedule';
import { TEST_LISTS } from '../../support/key-records';
import { createPriceListBody, parseSubmission } from '../../support/submissions';
import { requireKeyRecord, type Attempt, type KeyRecord } from '../../../src/lib/schemas/key-record';

/** An event of a key, possibly sent by the attempt that holds it. */
interface Step {
  /** Milliseconds since the previous event. */
  passed: number;
  createEvent: (now: number, held: KeyRecord | undefined) => KeyEvent;
}

const { info } = parseSubmission(createPriceListBody(1));

/** Attempts with few different owners, payloads and ids, so that events often concern the same attempt. */
const attempts = fc.record({
  owner: fc.constantFrom('owner-1', 'owner-2', 'owner-3'),
  fingerprint: fc.constantFrom('fingerprint-1', 'fingerprint-1', 'fingerprint-2'),
  document_id: fc.constantFrom('document-1', 'document-2', 'document-3', 'document-4', 'document-5'),
});

function toAttempt(
  { owner, fingerprint, document_id }: Pick<Attempt, 'owner' | 'fingerprint' | 'document_id'>,
  claimedAt: number,
): Attempt {
  const payload = { products_count: 1, payload_chunks: 1 };
  const rest = { ...payload, market_id: 'market-1', lists: null, trace_id: null, key_id: 'api-key-1' };
  const times = { claimed_at: claimedAt, lease_expires_at: claimedAt + LEASE_MS };
  return { owner, fingerprint, document_id, ...rest, ...times };
}

const KINDS: KeyEvent['kind'][] = [
  'claim',
  'renew',
  'complete',
  'fail',
  'expire',
  'fail_permanently',
  'resume',
  'release',
];

const events: fc.Arbitrary<Step['createEvent']> = fc
  .record({
    kind: fc.constantFrom<KeyEvent['kind']>('claim', 'fail', 'fail', 'resume', 'resume', 'release', ...KINDS),
    chosen: attempts,
    // If an attempt holds the key, three in four events except claims concern it. Other events concern a random one.
    isOfHolder: fc.constantFrom(true, true, true, false),
    isComplete: fc.constantFrom(false, false, true),
    cause: fc.constantFrom('error', 'stopped', 'timeout', 'unavailable'),
    isAutomatic: fc.boolean(),
  })
  .map(({ kind, chosen, isOfHolder, isComplete, cause, isAutomatic }) => (now, held) => {
    const attempt = toAttempt(isOfHolder && kind !== 'claim' && held !== undefined ? held : chosen, now);
    const { owner, document_id } = attempt;
    const decision = { document_id, by: 'operator', reason: 'checked' };
    switch (kind) {
      case 'claim':
        return { kind, attempt: { ...attempt, lists: isComplete ? null : TEST_LISTS }, info, isStored: true };
      case 'renew': {
        const progress = { entries_written: 1, entries_total: 2 };
        return { kind, attempt, progress };
      }
      case 'complete':
        return { kind, attempt, info };
      case 'fail':
        return { kind, attempt, reason: 'Firestore returned an error', cause };
      case 'expire':
        return { kind, caller: isAutomatic ? null : attempt };
      case 'fail_permanently':
        return { kind, document_id, reason: 'chunks are missing' };
      case 'resume':
        return {
          kind,
          attempt: { owner: `${owner}-resumed` },
          isAutomatic,
          ...decision,
          ...(isAutomatic && { by: SWEEP }),
        };
      case 'release':
        return { kind, ...decision };
    }
  });

/** Events of one key, often at the same time and sometimes more than a lease apart. */
const histories: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    createEvent: events,
    passed: fc.oneof(fc.constant(0), fc.nat(LEASE_MS / 2), fc.constantFrom(LEASE_MS - 1, LEASE_MS, 3 * LEASE_MS)),
  }),
  { maxLength: 30, size: 'max' },
);

/** Applies events one after another. Each record is frozen, so that no event can change an earlier record. */
function* walk(steps: readonly Step[]) {
  let record: KeyRecord | undefined;
  let now = 1_000;
  for (const step of steps) {
    now += step.passed;
    const before = deepFreeze(record);
    const event = step.createEvent(now, before);
    const { record: after, outcome } = transition(before, event, now);
    yield { event, now, before, after, outcome };
    record = after;
  }
}

type Walked = ReturnType<typeof walk> extends Generator<infer Each> ? Each : never;

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** Asserts a property after every event of many histories. */
const always = (check: (step: Walked) => void) =>
  fc.assert(
    fc.property(histories, (steps) => {
      for (const step of walk(steps)) check(step);
    }),
    { numRuns: 200 },
  );

const isExpired = (record: KeyRecord | undefined, now: number) =>
  record?.status === 'processing' && now >= record.lease_expires_at;

/** Returns what an event says about the attempt of its sender. */
function getCaller(event: KeyEvent): CallerIdentity {
  if (event.kind === 'expire') return event.caller ?? {};
  const { document_id } = 'document_id' in event && event.kind !== 'fail_permanently' ? event : {};
  return { ...(document_id !== undefined && { document_id }), ...('attempt' in event && event.attempt) };
}

/** Returns whether the event stops a resume, which returns the key to its earlier state. */
const isHandedBack = (record: KeyRecord | undefined, event: KeyEvent) =>
  event.kind === 'fail' &&
  event.cause === 'stopped' &&
  isBySender(record, event) &&
  record?.actions.at(-1)?.action === 'resume';

const isBySender = (record: KeyRecord | undefined, event: KeyEvent) =>
  record?.status === 'processing' && record.owner === getCaller(event).owner;

/** Returns whether an operator has released the attempt of an event's sender. */
const wasReleased = (record: KeyRecord | undefined, event: KeyEvent) =>
  record !== undefined &&
  [...record.history, ...(record.status === 'released' ? [record] : [])].some(
    ({ document_id }) => document_id === getCaller(event).document_id,
  );

type Status = KeyRecord['status'] | 'none';

/** Returns the status after an event according to the drawing in key-state-machine.ts. */
function getDrawnStatus(before: KeyRecord | undefined, event: KeyEvent, now: number): Status {
  const isOwner = isBySender(before, event);
  const expired = isExpired(before, now) && !isOwner;
  const status: Status = expired ? 'requires_review' : (before?.status ?? 'none');
  const isReviewed = 'document_id' in event && before?.document_id === event.document_id;
  const wasClaimed =
    event.kind === 'claim' &&
    [before, ...(before?.history ?? [])].some((each) => each?.document_id === event.attempt.document_id);
  switch (`${status} ${event.kind}` as const) {
    case 'none claim':
      return event.kind === 'claim' && event.attempt.lists === null ? 'completed' : 'processing';
    case 'released claim':
      if (wasClaimed) return 'released';
      return event.kind === 'claim' && event.attempt.lists === null ? 'completed' : 'processing';
    case 'processing complete':
      return isOwner ? 'completed' : 'processing';
    case 'processing fail':
      return isOwner ? 'requires_review' : 'processing';
    case 'requires_review resume': {
      const isAutomatic = event.kind === 'resume' && event.isAutomatic;
      const passes = expired || (before?.failure_cause !== null && before?.failure_cause !== 'error');
      const isWithinLimit = passes && (before?.automatic_resumes ?? 0) < MAX_AUTOMATIC_RESUMES;
      return isReviewed && (!isAutomatic || isWithinLimit) ? 'processing' : 'requires_review';
    }
    case 'requires_review release':
      return isReviewed ? 'released' : 'requires_review';
    case 'completed release':
      return isReviewed && before.lists === null ? 'released' : 'completed';
    default:
      return status;
  }
}

const OUTCOMES = ['owned', 'completed', 'failed', 'released', 'payload_mismatch', 'blocked', 'available'];

describe('a key', () => {
  test('has the transitions of the drawing, and no others', () =>
    always(({ before, after, event, now }) => {
      expect(after?.status ?? 'none').toBe(getDrawnStatus(before, event, now));
    }));

  test('has an outcome for every event in every state, and a record that parses', () =>
    always(({ after, outcome }) => {
      expect(OUTCOMES).toContain(outcome.kind);
      if (after !== undefined) expect(requireKeyRecord({ ...after })).toEqual(after);
    }));

  test('that is completed with lists is not changed by any event', () =>
    always(({ before, after }) => {
      if (before?.status === 'completed' && before.lists !== null) expect(after).toBe(before);
    }));

  test('stays the identical record after an event without effect', () =>
    always(({ before, after, event }) => {
      if (event.kind !== 'renew' && JSON.stringify(before) === JSON.stringify(after)) expect(after).toBe(before);
    }));

  test('is changed by an attempt that does not own it only if its lease has expired', () =>
    always(({ before, after, event, now }) => {
      if (event.kind !== 'renew' && event.kind !== 'complete' && event.kind !== 'fail') return;
      if (isBySender(before, event)) return;
      if (isExpired(before, now))
        expect(after).toMatchObject({ status: 'requires_review', owner: '', failure: LEASE_EXPIRED });
      else expect(after).toBe(before);
    }));

  test('counts its automatic resumes, up to the limit, until an operator resumes it or it is claimed again', () =>
    always(({ before, after, event }) => {
      expect(after?.automatic_resumes ?? 0).toBeLessThanOrEqual(MAX_AUTOMATIC_RESUMES);
      if (before === undefined || after === undefined) return;
      if (event.kind === 'resume' && after.actions.length > before.actions.length) {
        const isAutomatic = event.isAutomatic;
        expect(after.automatic_resumes).toBe(isAutomatic ? before.automatic_resumes + 1 : 0);
      } else if (isHandedBack(before, event)) {
        const last = after.actions.findLastIndex(({ by }) => by !== SWEEP);
        expect(after.automatic_resumes).toBe(after.actions.length - last - 1);
      } else {
        const isSame = after.document_id === before.document_id;
        expect(after.automatic_resumes).toBe(isSame ? before.automatic_resumes : 0);
      }
    }));

  test('keeps all earlier attempts and actions, except a resume that was stopped', () =>
    always(({ before, after, event }) => {
      expect(after?.history.slice(0, before?.history.length ?? 0)).toEqual(
        before === undefined ? after?.history : before.history,
      );
      const earlier = before?.actions ?? [];
      const kept = isHandedBack(before, event) ? earlier.slice(0, -1) : earlier;
      expect(after?.actions.slice(0, kept.length)).toEqual(after && kept);
      if (before?.status === 'released' && after?.status !== 'released') {
        expect(after?.history.at(-1)).toMatchObject({ document_id: before.document_id, settled_at: before.updated_at });
      }
    }));
});

describe('an outcome', () => {
  test('is `payload_mismatch` for every other payload, unless the attempt of the sender was released', () =>
    always(({ after, outcome, event }) => {
      const { fingerprint } = getCaller(event);
      if (after === undefined || after.status === 'released' || fingerprint === undefined) return;
      if (fingerprint === after.fingerprint) expect(outcome.kind).not.toBe('payload_mismatch');
      else if (wasReleased(after, event)) expect(outcome).toEqual({ kind: 'released' });
      else expect(outcome).toEqual({ kind: 'payload_mismatch' });
    }));
});
