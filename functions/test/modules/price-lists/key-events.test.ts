import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import {
  isLeaseHeld,
  MAX_AHEAD_MS,
  transition,
  type CallerIdentity,
  type KeyEvent,
  type KeyOutcome,
} from '../../../src/price-lists/key-state-machine';
import {
  MAX_AUTOMATIC_RESUMES,
  getSweepDueAt,
  getSweepResumeAt,
  getSweepObstacle,
} from '../../../src/price-lists/sweep-schedule';
import { createSuccessResponse } from '../../../src/price-lists/stored-documents';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { createPriceListBody, parseSubmission } from '../../support/submissions';
import { createKeyRecord, TEST_CREATION } from '../../support/key-records';

/** Single events, with all that they make of a record; what holds for any order of them: key-state-machine.test.ts. */

const NOW = 10_000;

/** From then until five seconds after the next full minute. */
const AFTER_NEXT_SWEEP_MS = 55_000;

const processing = createKeyRecord();
const failed = createKeyRecord({ status: 'requires_review', failure: 'the time is up', failure_cause: 'timeout' });
const completed = createKeyRecord({ status: 'completed', response: '{}' });
const released = createKeyRecord({ status: 'released', failure: 'the time is up', failure_cause: 'timeout' });

const { owner, fingerprint, document_id } = processing;
const attempt = { ...createKeyRecord(), owner: 'new', document_id: 'new' };
const { info } = parseSubmission(createPriceListBody(1));
const claim = { kind: 'claim', attempt, info, isStored: true } as const;
const claimOfLists = { ...claim, attempt: { ...attempt, creation: TEST_CREATION } };
const decision = { document_id, by: 'operator', reason: 'checked' };
const resume = { kind: 'resume', ...decision, attempt: { owner: 'new' }, isAutomatic: false } as const;
const condemn = { kind: 'condemn', document_id, reason: 'chunks are missing' } as const;

const apply = (record: KeyRecord | undefined, event: KeyEvent, now = NOW) => transition(record, event, now);
const look = (record: KeyRecord | undefined, caller: CallerIdentity | null = null) =>
  apply(record, { kind: 'look', caller }).outcome;

describe('an event', () => {
  test('claim takes a key with its lease, and keeps the attempts and actions before it', () => {
    const { record } = apply(undefined, claimOfLists);
    expect(record).toMatchObject({
      owner: 'new',
      status: 'processing',
      claimed_at: NOW,
      updated_at: NOW,
      lease_expires_at: NOW + LEASE_DURATION_MS,
      history: [],
      actions: [],
    });
    const action = { action: 'release', at: 1, by: 'operator', reason: null } as const;
    const again = apply({ ...released, actions: [action] }, claimOfLists).record;
    expect(again).toMatchObject({ document_id: 'new', actions: [action], failure: null, failure_cause: null });
    expect(again?.history).toEqual([
      expect.objectContaining({ document_id, failure: 'the time is up', settled_at: 0 }),
    ]);
  });

  test('resume gives an attempt a new owner with a lease, and records the action', () => {
    expect(apply({ ...failed, automatic_resumes: 2 }, resume).record).toEqual({
      ...failed,
      status: 'processing',
      owner: 'new',
      lease_expires_at: NOW + LEASE_DURATION_MS,
      updated_at: NOW,
      automatic_resumes: 0,
      actions: [{ action: 'resume', at: NOW, by: 'operator', reason: 'checked' }],
    });
  });

  test('release records the action', () => {
    const { record, outcome } = apply(failed, { kind: 'release', ...decision });
    const action = { action: 'release', at: NOW, by: 'operator', reason: 'checked' };
    expect(record).toEqual({ ...failed, status: 'released', updated_at: NOW, actions: [action] });
    expect(outcome).toEqual({ kind: 'released' });
  });

  test('condemn leaves a key to an operator for good, and one that is left already as it is', () => {
    const { record, outcome } = apply(failed, condemn);
    const failure = { failure: 'chunks are missing', failure_cause: 'error', updated_at: NOW };
    expect(record).toEqual({ ...failed, ...failure });
    expect(outcome).toEqual({ kind: 'blocked', by: 'review', retryAfterMs: null });
    const left = { ...failed, failure_cause: 'error' } as const;
    expect(apply(left, condemn).record).toBe(left);
    expect(apply({ ...left, document_id: 'another' }, condemn).record).toMatchObject({ failure: left.failure });
  });

  test('complete stores the response, with the time of the event', () => {
    const { record, outcome } = apply(processing, { kind: 'complete', attempt: processing, info });
    const response = createSuccessResponse(processing, info, NOW);
    expect(record).toEqual({ ...processing, status: 'completed', response, updated_at: NOW });
    expect(outcome).toEqual({ kind: 'completed', response, isOwn: true });
  });

  test.each<[string, KeyRecord, KeyEvent]>([
    ['fail', processing, { kind: 'fail', attempt: processing, reason: 'r', cause: 'error' }],
    ['complete', processing, { kind: 'complete', attempt: processing, info }],
    ['resume', failed, resume],
    ['release', failed, { kind: 'release', ...decision }],
    ['condemn', failed, condemn],
  ])('%s never sets updated_at back, whatever the clock of its instance', (_, record, event) => {
    const ahead = { ...record, updated_at: NOW + 5_000, lease_expires_at: NOW + 5_000 };
    expect(apply(ahead, event).record).not.toBe(ahead);
    expect(apply(ahead, event).record).toMatchObject({ updated_at: NOW + 5_000 });
  });

  test.each<[string, KeyEvent, KeyRecord['status']]>([
    ['a repeated claim', { ...claim, attempt: processing }, 'processing'],
    ['a look', { kind: 'look', caller: processing }, 'processing'],
    ['a repeated resume', { ...resume, attempt: { owner } }, 'processing'],
    ['a completion', { kind: 'complete', attempt: processing, info }, 'completed'],
    ['a failure', { kind: 'fail', attempt: processing, reason: 'r', cause: 'error' }, 'requires_review'],
  ])('of an owner whose lease expired unseen finds its own attempt: %s', (_, event, status) => {
    const { record } = apply(processing, event, processing.lease_expires_at);
    expect(record).toMatchObject({ owner, status });
    expect(record?.failure_cause).not.toBe('lease_expired');
  });

  test('finds an expired lease: the attempt has no owner, and waits for the sweep', () => {
    const { record } = apply(processing, { kind: 'look', caller: null }, processing.lease_expires_at);
    expect(record).toEqual({
      ...processing,
      status: 'requires_review',
      owner: '',
      failure: 'lease expired before the attempt completed',
      failure_cause: 'lease_expired',
      updated_at: processing.lease_expires_at,
    });
  });
});

test('a claim without a market completes the key exactly if its commit stores the whole payload', () => {
  const { record, outcome } = apply(undefined, claim);
  const response = createSuccessResponse({ ...attempt, claimed_at: NOW }, info, NOW);
  expect(record).toMatchObject({ status: 'completed', response, updated_at: NOW });
  expect(outcome).toEqual({ kind: 'completed', response, isOwn: true });
  expect(apply(undefined, { ...claim, isStored: false }).outcome).toMatchObject({ kind: 'owned' });
  const withLists = { ...attempt, creation: TEST_CREATION };
  expect(apply(undefined, { ...claim, attempt: withLists }).outcome).toMatchObject({ kind: 'owned' });
});

test('a lease in the far future, which no instance grants, counts as expired', () => {
  const lasting = (ms: number) => ({ ...processing, lease_expires_at: NOW + ms });
  expect([0, 1, MAX_AHEAD_MS, MAX_AHEAD_MS + 1].map((ms) => isLeaseHeld(lasting(ms), NOW))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(look(lasting(MAX_AHEAD_MS + 1))).toMatchObject({ kind: 'blocked', by: 'review' });
});

test('a change in the far future, after which no sweep would look, has the time of the next event', () => {
  const event = { kind: 'resume', document_id, attempt: { owner: 'new' }, by: 'operator', reason: null } as const;
  const resume = (ms: number) =>
    apply({ ...failed, updated_at: NOW + ms }, { ...event, isAutomatic: false }).record?.updated_at;
  expect([0, 1, MAX_AHEAD_MS, MAX_AHEAD_MS + 1].map(resume)).toEqual([NOW, NOW + 1, NOW + MAX_AHEAD_MS, NOW]);
});

describe('a key', () => {
  const own = { owner, fingerprint, document_id };
  const other = { owner: 'other', fingerprint, document_id: 'other' };
  const review = (retryAfterMs: number | null): KeyOutcome => ({ kind: 'blocked', by: 'review', retryAfterMs });

  test.each<[string, KeyRecord | undefined, KeyOutcome, KeyOutcome, KeyOutcome]>([
    ['that does not exist', undefined, { kind: 'available' }, { kind: 'available' }, { kind: 'available' }],
    [
      'in progress',
      processing,
      { kind: 'owned', record: processing },
      { kind: 'blocked', by: 'attempt', retryAfterMs: 10_000 },
      { kind: 'blocked', by: 'attempt', retryAfterMs: 10_000 },
    ],
    [
      'that is completed',
      completed,
      { kind: 'completed', response: '{}', isOwn: true },
      { kind: 'completed', response: '{}', isOwn: false },
      { kind: 'completed', response: '{}', isOwn: false },
    ],
    ['that another version completed', { ...completed, response: null }, review(null), review(null), review(null)],
    [
      'that failed',
      failed,
      { kind: 'failed', reason: 'the time is up', retryAfterMs: AFTER_NEXT_SWEEP_MS },
      review(AFTER_NEXT_SWEEP_MS),
      review(AFTER_NEXT_SWEEP_MS),
    ],
    [
      'that failed without a reason',
      { ...failed, failure: null, failure_cause: null },
      { kind: 'failed', reason: 'unknown', retryAfterMs: null },
      review(null),
      review(null),
    ],
    ['that was released', released, { kind: 'released' }, { kind: 'available' }, { kind: 'available' }],
  ])('%s is this for its attempt, another and a sweep', (_, record, forOwn, forOther, forSweep) => {
    expect(look(record, own)).toEqual(forOwn);
    expect(look(record, other)).toEqual(forOther);
    expect(look(record)).toEqual(forSweep);
  });

  test('may be claimed after its release, but not by an attempt that was on it before', () => {
    const archived = { ...createKeyRecord({ document_id: 'earlier' }), settled_at: 1 };
    const record = { ...released, history: [archived] };
    expect(look(record, other)).toEqual({ kind: 'available' });
    expect(look(record, own)).toEqual({ kind: 'released' });
    expect(look(record, { ...other, document_id: 'earlier' })).toEqual({ kind: 'released' });
    expect(apply(record, { ...claim, attempt: { ...attempt, document_id: 'earlier' } }).record).toBe(record);
  });

  test('that was released and claimed with another payload is no mismatch for the attempt before', () => {
    const archived = { ...createKeyRecord({ document_id: 'earlier' }), settled_at: 1 };
    const record = { ...processing, fingerprint: 'another', history: [archived] };
    expect(look(record, { ...own, document_id: 'earlier' })).toEqual({ kind: 'released' });
    expect(look(record, { ...other })).toEqual({ kind: 'payload_mismatch' });
    for (const kind of ['release', 'resume'] as const)
      expect(apply(record, { ...resume, kind, document_id: 'earlier' })).toEqual({
        record,
        outcome: { kind: 'released' },
      });
  });

  test('whose fingerprint a later version made requires review: whether the payloads differ is not known here', () => {
    const record = { ...completed, fingerprint_version: 2, fingerprint: 'another' };
    expect(look(record, { ...other, fingerprint_version: 1 })).toEqual(review(null));
    expect(look(record)).toEqual({ kind: 'completed', response: '{}', isOwn: false });
  });

  test('is of another payload', () => {
    expect(look(processing, { fingerprint: 'another' })).toEqual({ kind: 'payload_mismatch' });
  });
});

describe('the sweep', () => {
  test.each<[Partial<KeyRecord>, string | null]>([
    [{}, null],
    [{ failure_cause: 'lease_expired' }, null],
    [{ failure_cause: 'stopped' }, null],
    [{ failure_cause: 'unavailable' }, null],
    [{ automatic_resumes: 2 }, null],
    [{ automatic_resumes: 3 }, 'it was resumed 3 times without an operator, and failed again'],
    [{ automatic_resumes: 4 }, 'it was resumed 4 times without an operator, and failed again'],
    [{ failure_cause: 'error' }, 'the failure is not transient: the time is up'],
    [{ failure_cause: null, failure: null }, 'the failure is not transient: unknown'],
  ])('leaves %j to an operator: %s', (fields, obstacle) => {
    expect(getSweepObstacle({ ...failed, ...fields })).toBe(obstacle);
  });

  test('has as many tries for a client as it has by itself', () => {
    const getRetryAfterMs = (automatic_resumes: number) => look({ ...failed, automatic_resumes });
    expect(getRetryAfterMs(MAX_AUTOMATIC_RESUMES - 1)).toMatchObject({ retryAfterMs: 300_000 });
    expect(getRetryAfterMs(MAX_AUTOMATIC_RESUMES)).toMatchObject({ retryAfterMs: null });
  });

  test('is due when a lease expires (aegra #476), and at, a minute and five minutes after a transient failure', () => {
    const dueAfter = (automatic_resumes: number) => {
      const dueAt = getSweepResumeAt({ ...failed, automatic_resumes });
      return dueAt === null ? null : dueAt - failed.updated_at;
    };
    expect([0, 1, 2, 3].map(dueAfter)).toEqual([0, 60_000, 300_000, null]);
    expect(getSweepResumeAt({ ...processing, automatic_resumes: 3 })).toBe(processing.lease_expires_at);
    expect([completed, { ...failed, failure_cause: 'error' } as const].map(getSweepResumeAt)).toEqual([null, null]);
  });

  test('is due at once, too, for a key that comes to need an operator, so that it reports that', () => {
    const permanent = { ...failed, failure_cause: 'error', updated_at: 7_000 } as const;
    expect(getSweepDueAt(permanent)).toBe(7_000);
    expect(getSweepDueAt({ ...permanent, failure_cause: 'timeout', automatic_resumes: 3 })).toBe(7_000);
    expect(getSweepDueAt({ ...permanent, failure_cause: 'timeout', automatic_resumes: 1 })).toBe(67_000);
    expect([completed, released].map(getSweepDueAt)).toEqual([null, null]);
  });

  test('whose resume the platform stopped has tried nothing', () => {
    const swept = apply(failed, { ...resume, by: 'sweep', isAutomatic: true }).record;
    expect(swept).toMatchObject({ automatic_resumes: 1, actions: [{ by: 'sweep' }] });
    if (swept === undefined) throw new Error('there is no record');
    const event = { kind: 'fail', attempt: swept, reason: 'SIGTERM' } as const;
    const stopped = apply(swept, { ...event, cause: 'stopped' }).record;
    expect(stopped).toMatchObject({ automatic_resumes: 0, actions: [], status: 'requires_review' });
    expect(apply(swept, { ...event, cause: 'timeout' }).record).toMatchObject({ automatic_resumes: 1 });
  });

  test('resumes as often as it may', () => {
    const automatic = { ...resume, isAutomatic: true };
    expect(apply({ ...failed, automatic_resumes: 2 }, automatic).record).toMatchObject({ automatic_resumes: 3 });
    const exhausted = { ...failed, automatic_resumes: 3 };
    expect(apply(exhausted, automatic).record).toBe(exhausted);
  });
});
