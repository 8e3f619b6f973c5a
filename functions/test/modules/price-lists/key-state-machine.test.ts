import fc from 'fast-check';
import { keyRecordSchema, type Attempt, type KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_EXPIRED, transition, type KeyCaller, type KeyEvent } from '../../../src/price-lists/key-state-machine';

const LEASE_MS = 100;

/** Something that happens to a key after a while, perhaps to the attempt that holds it. */
interface Step {
  passed: number;
  event: (now: number, held: KeyRecord | undefined) => KeyEvent;
}

/** An attempt by one of a few owners with one of a few payloads, so that attempts meet their own and each other's. */
const attempts = fc.record({
  owner: fc.constantFrom('owner-1', 'owner-2', 'owner-3'),
  fingerprint: fc.constantFrom('fingerprint-1', 'fingerprint-1', 'fingerprint-2'),
  document_id: fc.constantFrom('document-1', 'document-2', 'document-3', 'document-4', 'document-5'),
});

function attemptOf(
  { owner, fingerprint, document_id }: Pick<Attempt, 'owner' | 'fingerprint' | 'document_id'>,
  claimed_at: number,
): Attempt {
  const rest = { products_count: 1, payload_chunks: 1, market_id: 'market-1', creation: null };
  return { owner, fingerprint, document_id, ...rest, claimed_at, lease_expires_at: claimed_at + LEASE_MS };
}

const events: fc.Arbitrary<Step['event']> = fc
  .record({
    kind: fc.constantFrom<KeyEvent['kind']>(
      'submitted',
      'submitted',
      'completed',
      'failed',
      'inspected',
      'resumed',
      'released',
    ),
    chosen: attempts,
    // Mostly, a step is of the attempt that holds the key; otherwise of any, so that strangers come along too.
    ofHolder: fc.constantFrom(true, true, false),
    response: fc.constantFrom(null, null, '{"success":true}'),
  })
  .map(({ kind, chosen, ofHolder, response }) => (now, held) => {
    const attempt = attemptOf(ofHolder && kind !== 'submitted' && held !== undefined ? held : chosen, now);
    const { owner, document_id } = attempt;
    const operation = { document_id, by: 'operator', reason: 'checked' };
    switch (kind) {
      case 'submitted':
        return { kind, info: { boq_list_id: 'boq-1' }, attempt, response };
      case 'completed':
        return { kind, attempt, response: '{"success":true}' };
      case 'failed':
        return { kind, attempt, reason: 'Firestore said no' };
      case 'inspected':
        return { kind, by: attempt };
      case 'resumed':
        return { kind, owner: `${owner}-resumed`, lease_expires_at: now + LEASE_MS, ...operation };
      case 'released':
        return { kind, ...operation };
    }
  });

/** A life of a key: what happens to it, often at once and sometimes after more than a lease. */
const lives: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    event: events,
    passed: fc.oneof(fc.constant(0), fc.nat(LEASE_MS / 2), fc.constantFrom(LEASE_MS - 1, LEASE_MS, 300)),
  }),
  { maxLength: 25 },
);

/** Walks a life, and shows each step with the record before it, which the step cannot change, and after it. */
function* walk(life: readonly Step[]) {
  let record: KeyRecord | undefined;
  let now = 1_000;
  for (const step of life) {
    now += step.passed;
    const before = deepFrozen(record);
    const event = step.event(now, before);
    const { record: after, verdict } = transition(before, event, now);
    yield { event, now, before, after, verdict };
    record = after;
  }
}

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen);
  return value;
}

/** Runs a check at every step of many lives. */
const always = (check: (step: ReturnType<typeof walk> extends Generator<infer Each> ? Each : never) => void) =>
  fc.assert(
    fc.property(lives, (life) => {
      for (const step of walk(life)) check(step);
    }),
    { numRuns: 1000 },
  );

const isLapsed = (record: KeyRecord | undefined, now: number) =>
  record?.status === 'processing' && now >= record.lease_expires_at;

/** Whoever brings an event; a resumption has a token only, a release has none. */
function askerOf(event: KeyEvent): KeyCaller {
  switch (event.kind) {
    case 'submitted':
    case 'completed':
    case 'failed':
      return event.attempt;
    case 'inspected':
      return event.by;
    case 'resumed':
      return { owner: event.owner };
    case 'released':
      return {};
  }
}

type Status = KeyRecord['status'] | 'none';

/** The status after an event, as the drawing has it. */
function drawn(before: KeyRecord | undefined, event: KeyEvent, now: number): Status {
  const status: Status = isLapsed(before, now) ? 'requires_review' : (before?.status ?? 'none');
  const isOwner = 'attempt' in event && before?.owner === event.attempt.owner;
  const isReviewed = 'document_id' in event && before?.document_id === event.document_id;
  const wasClaimed =
    'attempt' in event &&
    [before, ...(before?.history ?? [])].some((each) => each?.document_id === event.attempt.document_id);
  switch (`${status} ${event.kind}` as const) {
    case 'none submitted':
      return event.kind === 'submitted' && event.response !== null ? 'completed' : 'processing';
    case 'released submitted':
      if (wasClaimed) return 'released';
      return event.kind === 'submitted' && event.response !== null ? 'completed' : 'processing';
    case 'processing completed':
      return isOwner ? 'completed' : 'processing';
    case 'processing failed':
      return isOwner ? 'requires_review' : 'processing';
    case 'requires_review resumed':
      return isReviewed ? 'processing' : 'requires_review';
    case 'requires_review released':
      return isReviewed ? 'released' : 'requires_review';
    default:
      return status;
  }
}

describe('a key', () => {
  test('takes the steps of the drawing, and no others', () =>
    always(({ before, after, event, now }) => {
      expect(after?.status ?? 'none').toBe(drawn(before, event, now));
    }));

  test('has an answer to every event in every state, and a record that can be read again', () =>
    always(({ after, verdict }) => {
      expect(['owned', 'completed', 'failed', 'payload_mismatch', 'blocked', 'available']).toContain(verdict.kind);
      if (after !== undefined) expect(keyRecordSchema.parse(after)).toEqual(after);
    }));

  test('that is completed absorbs every event', () =>
    always(({ before, after }) => {
      if (before?.status === 'completed') expect(after).toBe(before);
    }));

  test('that nothing happens to is the very record that it was', () =>
    always(({ before, after }) => {
      if (JSON.stringify(before) === JSON.stringify(after)) expect(after).toBe(before);
    }));

  test('is changed by an attempt only while that owns it', () =>
    always(({ before, after, event, now }) => {
      if (event.kind !== 'completed' && event.kind !== 'failed') return;
      const { owner, status } = before ?? {};
      if (isLapsed(before, now)) expect(after).toMatchObject({ status: 'requires_review', failure: LEASE_EXPIRED });
      else if (status !== 'processing' || owner !== event.attempt.owner) expect(after).toBe(before);
    }));

  test('forgets no attempt and no operator', () =>
    always(({ before, after }) => {
      expect(after?.history.slice(0, before?.history.length ?? 0)).toEqual(
        before === undefined ? after?.history : before.history,
      );
      expect(after?.actions.slice(0, before?.actions.length ?? 0)).toEqual(
        before === undefined ? after?.actions : before.actions,
      );
      if (before?.status === 'released' && after?.status !== 'released') {
        expect(after?.history.at(-1)).toMatchObject({ document_id: before.document_id, settled_at: before.updated_at });
      }
    }));

  test('holds an answer exactly when it is completed', () =>
    always(({ after }) => {
      if (after !== undefined) expect(after.response !== null).toBe(after.status === 'completed');
    }));
});

describe('a verdict', () => {
  test('is `owned` for the owner of a live record with its own payload only', () =>
    always(({ after, verdict, event }) => {
      if (verdict.kind !== 'owned') return;
      expect(after).toMatchObject({ status: 'processing', owner: askerOf(event).owner });
      expect(verdict.record).toBe(after);
    }));

  test('gives one payload’s answer to no other', () =>
    always(({ after, verdict, event }) => {
      const asked = askerOf(event).fingerprint;
      if (after === undefined || after.status === 'released' || asked === undefined) return;
      if (asked === after.fingerprint) expect(verdict.kind).not.toBe('payload_mismatch');
      else expect(verdict).toEqual({ is: 'payload_mismatch' });
    }));

  test('says when to come again while a lease lives, and only then', () =>
    always(({ after, verdict, now }) => {
      if (verdict.kind !== 'blocked') return;
      if (after?.status === 'processing') expect(verdict.retryAfterMs).toBe(after.lease_expires_at - now);
      else expect(verdict.retryAfterMs).toBeNull();
    }));

  test('`failed` is told to the attempt itself only', () =>
    always(({ after, verdict, event }) => {
      if (verdict.kind !== 'failed') return;
      expect(after?.status).toBe('requires_review');
      expect(askerOf(event).owner).toBe(after?.owner);
    }));

  test('`free` is told of a key that a post may claim', () =>
    always(({ after, verdict, now }) => {
      if (verdict.kind !== 'available') return;
      const fresh = attemptOf({ owner: 'fresh', fingerprint: 'any', document_id: 'fresh' }, now);
      const claimed = transition(
        after,
        { kind: 'submitted', info: { boq_list_id: 'boq-1' }, attempt: fresh, response: null },
        now,
      );
      expect(claimed.verdict).toEqual({ is: 'owned', record: claimed.record });
    }));
});

test('the lives that are tried reach every state and every verdict, and more than one release', () => {
  const seen = new Set<string>();
  let longest = 0;
  for (const life of fc.sample(lives, { numRuns: 1000, seed: 1 })) {
    for (const { before, event, after, verdict } of walk(life)) {
      seen.add(`${before?.status ?? 'none'} ${event.kind}`);
      seen.add(after?.status ?? 'none').add(verdict.kind);
      longest = Math.max(longest, after?.history.length ?? 0);
    }
  }
  const states = ['none', 'processing', 'completed', 'requires_review', 'released'];
  const types = ['submitted', 'completed', 'failed', 'inspected', 'resumed', 'released'];
  const verdicts = ['owned', 'completed', 'failed', 'payload_mismatch', 'blocked', 'available'];
  expect(longest).toBeGreaterThan(1);
  const all = [...states, ...states.flatMap((state) => types.map((type) => `${state} ${type}`)), ...verdicts];
  expect([...seen]).toEqual(expect.arrayContaining(all));
});
