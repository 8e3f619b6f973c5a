import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { transition, type KeyEvent, type KeyOutcome } from '../../../src/price-lists/key';
import { createKeyRecord, requireKeyRecord, TEST_LISTS } from '../../../../test/harness/key-records';

/** Checks the table of events in docs/architecture.md#states-of-a-key: what each event does to records and lists, state by state. */

const NOW = 100_000;

const earlier = { action: 'resume', at: 50_000, by: 'ada', reason: null } as const;
const own = createKeyRecord({
  owner: 'own',
  lists: TEST_LISTS,
  lease_expires_at: NOW + 1,
  failed_tries: 1,
  actions: [earlier],
});
const expired: KeyRecord = { ...own, lease_expires_at: NOW };
const failed: KeyRecord = {
  ...own,
  status: 'requires_review',
  failure: 'the time is up',
  failure_cause: 'timeout',
  failed_tries: 3,
};
const completed: KeyRecord = { ...own, status: 'completed', response: '{}' };

const STATES = {
  'no record': undefined,
  'in progress': own,
  'in progress, lease expired': expired,
  'of another owner': { ...own, owner: 'another' },
  'of another owner, lease expired': { ...expired, owner: 'another' },
  failed,
  'failed too often': { ...failed, failed_tries: 4 },
  'failed permanently': { ...failed, failure_cause: 'error' },
  completed,
  'completed without lists': { ...completed, lists: null },
  released: { ...failed, status: 'released' },
  'of another attempt, lease expired': { ...expired, document_id: 'another', owner: 'another' },
} satisfies Record<string, KeyRecord | undefined>;

type State = keyof typeof STATES;

const claim = { ...createKeyRecord({ owner: 'new', document_id: 'new', lists: TEST_LISTS }) };
/** An operator whose name is `sweep` is still a person. */
const operator = { by: 'sweep', reason: 'checked' };
const resumed = { ...own, owner: 'new' };

const EVENTS = {
  claim: { kind: 'claim', claim },
  'claim without a market': { kind: 'claim', claim: { ...claim, lists: null } },
  renew: { kind: 'renew', attempt: own },
  complete: { kind: 'complete', attempt: own },
  fail: { kind: 'fail', attempt: own, failure: 'no access', cause: 'error' },
  stop: { kind: 'fail', attempt: own, failure: 'the instance stops', cause: 'stopped' },
  'resume by the sweep': { kind: 'resume', attempt: resumed, operator: null },
  'resume by a person': { kind: 'resume', attempt: resumed, operator },
  release: { kind: 'release', attempt: own, operator },
} satisfies Record<string, KeyEvent>;

type EventName = keyof typeof EVENTS;

const updated = { updated_at: NOW };
const lease = { lease_expires_at: NOW + 40_000 };
const claimed = { ...claim, ...updated, ...lease, claimed_at: NOW };
const anyResponse = expect.any(String) as string;
const review = { ...updated, status: 'requires_review' };
const leaseEnded = {
  ...updated,
  failure: 'lease expired before the attempt completed',
  failure_cause: 'lease_expired',
  failed_tries: 2,
};
const taken = { ...updated, ...lease, status: 'processing', owner: 'new' };
const takenByPerson = {
  ...taken,
  failed_tries: 0,
  actions: [earlier, { action: 'resume', at: NOW, by: 'sweep', reason: 'checked' }],
};
const freed = {
  ...updated,
  status: 'released',
  response: null,
  actions: [earlier, { action: 'release', at: NOW, by: 'sweep', reason: 'checked' }],
};

const OWN: State[] = ['in progress', 'in progress, lease expired'];
const EXPIRED: State[] = ['in progress, lease expired', 'of another owner, lease expired'];

/** The events that are accepted in a state, what they change in the record, the status that both lists get, and the outcome. */
const ACCEPTED: [EventName, State[], changes: object, lists: string | null, outcome: KeyOutcome['kind']][] = [
  ['claim', ['no record', 'released'], claimed, 'processing', 'owned'],
  [
    'claim without a market',
    ['no record', 'released'],
    { ...claimed, lists: null, status: 'completed', response: anyResponse },
    null,
    'completed',
  ],
  ['renew', OWN, lease, null, 'owned'],
  ['complete', OWN, { ...updated, status: 'completed', response: anyResponse }, 'ready', 'completed'],
  ['fail', OWN, { ...review, failure: 'no access', failure_cause: 'error', failed_tries: 2 }, 'failed', 'failed'],
  ['stop', OWN, { ...review, failure: 'the instance stops', failure_cause: 'stopped' }, 'failed', 'failed'],
  ['resume by the sweep', EXPIRED, { ...leaseEnded, ...taken }, 'processing', 'owned'],
  ['resume by the sweep', ['failed'], taken, 'processing', 'owned'],
  ['resume by a person', EXPIRED, { ...leaseEnded, ...takenByPerson }, 'processing', 'owned'],
  ['resume by a person', ['failed', 'failed too often', 'failed permanently'], takenByPerson, 'processing', 'owned'],
  ['release', EXPIRED, { ...leaseEnded, ...freed, owner: '' }, 'failed', 'released'],
  ['release', ['failed', 'failed too often', 'failed permanently'], freed, 'failed', 'released'],
  ['release', ['completed without lists'], freed, null, 'released'],
];

const apply = (stored: KeyRecord | undefined, event: KeyEvent, readAt = NOW) =>
  transition(deepFreeze(stored), event, { readAt, startedAt: 7_000 });

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

const pairs = ACCEPTED.flatMap(([event, states, ...result]) =>
  states.map((state) => [event, state, ...result] as const),
);

test.each(pairs)('%s is accepted in this state: %s', (event, state, changes, status, kind) => {
  const { record, lists, outcome } = apply(STATES[state], EVENTS[event]);
  expect(record).toEqual({ ...STATES[state], ...changes });
  expect(requireKeyRecord({ ...record })).toEqual(record);
  expect([lists?.expected_forward_cost.status ?? null, lists?.price_list.status ?? null]).toEqual([status, status]);
  expect(outcome.kind).toBe(kind);
});

test('a rejected event changes nothing, unless it stores an expired lease', () => {
  const accepted = new Set(pairs.map(([event, state]) => `${event}: ${state}`));
  for (const [name, event] of Object.entries(EVENTS)) {
    for (const [state, stored] of Object.entries(STATES)) {
      const { record, lists, outcome } = apply(stored, event);
      const isAccepted = accepted.has(`${name}: ${state}`);
      expect([name, state, record !== undefined]).toEqual([name, state, isAccepted]);
      if (!isAccepted) expect([lists, typeof outcome.kind]).toEqual([null, 'string']);
    }
  }
});

test.each(['sweep', 'person'])('a repeated resume by a %s owns its attempt, even after its lease has expired', (by) => {
  const event: KeyEvent = { kind: 'resume', attempt: own, operator: by === 'person' ? operator : null };
  const { record, outcome } = apply(expired, event);
  expect([record, outcome.kind]).toEqual([undefined, 'owned']);
});

test('a resume by the sweep fails an attempt whose expired lease is its fourth failed try', () => {
  const stored = { ...expired, failed_tries: 3 };
  const { record, lists, outcome } = apply(stored, EVENTS['resume by the sweep']);
  expect(record).toEqual({ ...stored, ...leaseEnded, ...review, failed_tries: 4, owner: '' });
  expect(lists).toMatchObject({ expected_forward_cost: { status: 'failed' }, price_list: { status: 'failed' } });
  expect(outcome).toEqual({ kind: 'in_review', recovery: { kind: 'operator' } });
});

const bySweep = { kind: 'sweep', retryAfterMs: 65_000 };
const byOperator = { kind: 'operator' };

describe('the outcome of a claim', () => {
  const sendOwn = (state: State) => apply(STATES[state], { kind: 'claim', claim: own }).outcome;
  const sendOther = (state: State) => apply(STATES[state], EVENTS.claim).outcome;

  test.each<[State, forOwn: object, forOther: object]>([
    // The read began at 7,000 on the clock of the process, and Firestore's read time is 100,000.
    ['in progress', { kind: 'owned', heldUntil: 7_001 }, { kind: 'in_progress', retryAfterMs: 10_000 }],
    ['in progress, lease expired', { kind: 'owned', heldUntil: 7_000 }, { kind: 'in_review', recovery: bySweep }],
    [
      'failed',
      { kind: 'failed', reason: 'the time is up', recovery: bySweep },
      { kind: 'in_review', recovery: bySweep },
    ],
    ['failed too often', { kind: 'failed', recovery: byOperator }, { kind: 'in_review', recovery: byOperator }],
    ['failed permanently', { kind: 'failed', recovery: byOperator }, { kind: 'in_review', recovery: byOperator }],
    [
      'completed',
      { kind: 'completed', response: '{}', isOwn: true },
      { kind: 'completed', response: '{}', isOwn: false },
    ],
    ['released', { kind: 'released' }, { kind: 'owned', heldUntil: 47_000 }],
  ])('for a key in the state "%s" depends on whether the claim created its attempt', (state, forOwn, forOther) => {
    expect(sendOwn(state)).toMatchObject(forOwn);
    expect(sendOther(state)).toMatchObject(forOther);
  });

  test.each(Object.entries(STATES).filter(([state]) => !['no record', 'released'].includes(state)))(
    'with another payload is payload_mismatch for a key in the state "%s"',
    (_, stored) => {
      const { outcome } = apply(stored, { kind: 'claim', claim: { ...claim, fingerprint: 'another' } });
      expect(outcome).toEqual({ kind: 'payload_mismatch' });
    },
  );

  test('that finds an expired lease refers the client to the next sweep even at the fourth try, because the owner may still be running', () => {
    const stored = { ...expired, failed_tries: 3 };
    const { record, outcome } = apply(stored, EVENTS.claim);
    expect([record, outcome]).toEqual([undefined, { kind: 'in_review', recovery: bySweep }]);
    expect(apply(stored, EVENTS.complete).outcome).toMatchObject({ kind: 'completed', isOwn: true });
  });
});

test.each(['renew', 'complete', 'fail', 'resume by the sweep', 'resume by a person', 'release'] as const)(
  '%s without a key record says that the record was deleted',
  (event) => {
    expect(apply(undefined, EVENTS[event])).toEqual({ lists: null, outcome: { kind: 'deleted' } });
  },
);

test.each(['renew', 'complete', 'fail', 'resume by a person', 'release'] as const)(
  '%s of an attempt whose key was released and claimed again has the outcome for the new attempt',
  (event) => {
    const other = { ...own, document_id: 'another', owner: 'another' };
    expect(apply(other, EVENTS[event]).outcome.kind).toBe('in_progress');
    expect(apply({ ...other, fingerprint: 'another' }, EVENTS[event]).outcome.kind).toBe('payload_mismatch');
  },
);
