import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import {
  MAX_AUTOMATIC_RESUMES,
  getSweepDelayMs,
  getSweepDueAt,
  getSweepObstacle,
  transition,
  type KeyEvent,
  type KeyOutcome,
} from '../../../src/price-lists/key-state-machine';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { applyStep, createKeyRecord, type KeyStep } from '../../support/key-records';

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
const submitted = { kind: 'submitted', attempt, response: null } as const;
const decision = { document_id, by: 'operator', reason: 'checked' };
const resumed = { kind: 'resumed', ...decision, attempt: { owner: 'new' }, isAutomatic: false } as const;
const payloadUnusable = { kind: 'payloadUnusable', document_id, reason: 'chunks are missing' } as const;

const apply = (record: KeyRecord | undefined, step: KeyStep) => applyStep(record, step, NOW);
const check = (record: KeyRecord | undefined, caller: Extract<KeyEvent, { kind: 'expireIfLapsed' }>['caller'] = null) =>
  apply(record, { kind: 'expireIfLapsed', caller }).outcome;

describe('an event', () => {
  test('submitted claims a key with its lease, and keeps the attempts and actions before it', () => {
    const { record } = apply(undefined, submitted);
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
    const again = apply({ ...released, actions: [action] }, submitted).record;
    expect(again).toMatchObject({ document_id: 'new', actions: [action], failure: null, failure_cause: null });
    expect(again?.history).toEqual([
      expect.objectContaining({ document_id, failure: 'the time is up', settled_at: 0 }),
    ]);
  });

  test('resumed gives an attempt a new owner with a lease, and records the action', () => {
    expect(apply({ ...failed, automatic_resumes: 2 }, resumed).record).toEqual({
      ...failed,
      status: 'processing',
      owner: 'new',
      lease_expires_at: NOW + LEASE_DURATION_MS,
      updated_at: NOW,
      automatic_resumes: 0,
      actions: [{ action: 'resume', at: NOW, by: 'operator', reason: 'checked' }],
    });
  });

  test('released records the action', () => {
    const { record, outcome } = apply(failed, { kind: 'released', ...decision });
    const action = { action: 'release', at: NOW, by: 'operator', reason: 'checked' };
    expect(record).toEqual({ ...failed, status: 'released', updated_at: NOW, actions: [action] });
    expect(outcome).toEqual({ kind: 'available' });
  });

  test('payloadUnusable leaves a key to an operator for good, and one that is left already as it is', () => {
    const { record, outcome } = apply(failed, payloadUnusable);
    expect(record).toEqual({ ...failed, failure: 'chunks are missing', failure_cause: 'error' });
    expect(outcome).toEqual({ kind: 'blocked', by: 'review', retryAfterMs: null });
    const left = { ...failed, failure_cause: 'error' } as const;
    expect(apply(left, payloadUnusable).record).toBe(left);
    expect(apply({ ...left, document_id: 'another' }, payloadUnusable).record).toMatchObject({ failure: left.failure });
  });

  test.each<[string, KeyStep, KeyRecord['status']]>([
    ['a repeated claim', { ...submitted, attempt: processing }, 'processing'],
    ['a check', { kind: 'expireIfLapsed', caller: processing }, 'processing'],
    ['a repeated resume', { ...resumed, attempt: { owner } }, 'processing'],
    ['a completion', { kind: 'completed', attempt: processing, response: '{}', completedAt: 1 }, 'completed'],
    ['a failure', { kind: 'failed', attempt: processing, reason: 'r', cause: 'error' }, 'requires_review'],
  ])('of an owner whose lease expired unseen finds its own attempt: %s', (_, event, status) => {
    const { record } = applyStep(processing, event, processing.lease_expires_at);
    expect(record).toMatchObject({ owner, status });
    expect(record?.failure_cause).not.toBe('lease_expired');
  });

  test('finds an expired lease: the attempt has no owner, and waits for the sweep', () => {
    const { record } = transition(processing, { kind: 'expireIfLapsed', caller: null }, processing.lease_expires_at);
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
    ['that was released', released, review(null), { kind: 'available' }, { kind: 'available' }],
  ])('%s is this for its attempt, another and a sweep', (_, record, forOwn, forOther, forSweep) => {
    expect(check(record, own)).toEqual(forOwn);
    expect(check(record, other)).toEqual(forOther);
    expect(check(record)).toEqual(forSweep);
  });

  test('may be claimed after its release, but not by an attempt that was on it before', () => {
    const archived = { ...createKeyRecord({ document_id: 'earlier' }), settled_at: 1 };
    const record = { ...released, history: [archived] };
    expect(check(record, other)).toEqual({ kind: 'available' });
    expect(check(record, own)).toEqual(review(null));
    expect(check(record, { ...other, document_id: 'earlier' })).toEqual(review(null));
  });

  test('that was released and claimed with another payload is no mismatch for the attempt before', () => {
    const archived = { ...createKeyRecord({ document_id: 'earlier' }), settled_at: 1 };
    const record = { ...processing, fingerprint: 'another', history: [archived] };
    expect(check(record, { ...own, document_id: 'earlier' })).toEqual(review(null));
    expect(check(record, { ...other })).toEqual({ kind: 'payload_mismatch' });
  });

  test('whose fingerprint a later version made requires review: whether the payloads differ is not known here', () => {
    const record = { ...completed, fingerprint_version: 2, fingerprint: 'another' };
    expect(check(record, { ...other, fingerprint_version: 1 })).toEqual(review(null));
    expect(check(record)).toEqual({ kind: 'completed', response: '{}', isOwn: false });
  });

  test('is of another payload', () => {
    expect(check(processing, { fingerprint: 'another' })).toEqual({ kind: 'payload_mismatch' });
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
    const last = { ...failed, automatic_resumes: MAX_AUTOMATIC_RESUMES - 1 };
    expect(getSweepDelayMs(last, NOW)).toBe(300_000);
    expect(getSweepDelayMs({ ...failed, automatic_resumes: MAX_AUTOMATIC_RESUMES }, NOW)).toBeNull();
  });

  test('is due when a lease expires (aegra #476), and at, a minute and five minutes after a transient failure', () => {
    const dueAfter = (automatic_resumes: number) => {
      const dueAt = getSweepDueAt({ ...failed, automatic_resumes });
      return dueAt === null ? null : dueAt - failed.updated_at;
    };
    expect([0, 1, 2, 3].map(dueAfter)).toEqual([0, 60_000, 300_000, null]);
    expect(getSweepDueAt({ ...processing, automatic_resumes: 3 })).toBe(processing.lease_expires_at);
    expect([completed, { ...failed, failure_cause: 'error' } as const].map(getSweepDueAt)).toEqual([null, null]);
  });

  test('whose resume the platform stopped has tried nothing', () => {
    const swept = apply(failed, { ...resumed, by: 'sweep', isAutomatic: true }).record;
    expect(swept).toMatchObject({ automatic_resumes: 1, actions: [{ by: 'sweep' }] });
    if (swept === undefined) throw new Error('there is no record');
    const event = { kind: 'failed', attempt: swept, reason: 'SIGTERM' } as const;
    const stopped = apply(swept, { ...event, cause: 'stopped' }).record;
    expect(stopped).toMatchObject({ automatic_resumes: 0, actions: [], status: 'requires_review' });
    expect(apply(swept, { ...event, cause: 'timeout' }).record).toMatchObject({ automatic_resumes: 1 });
  });

  test('resumes as often as it may', () => {
    const automatic = { ...resumed, isAutomatic: true };
    expect(apply({ ...failed, automatic_resumes: 2 }, automatic).record).toMatchObject({ automatic_resumes: 3 });
    const exhausted = { ...failed, automatic_resumes: 3 };
    expect(apply(exhausted, automatic).record).toBe(exhausted);
  });
});
