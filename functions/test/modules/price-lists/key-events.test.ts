import { requireKeyRecord, type KeyRecord } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import {
  transition,
  type CallerIdentity,
  type KeyEvent,
  type KeyOutcome,
} from '../../../src/price-lists/key-state-machine';
import { SWEEP_WAIT_MS } from '../../../src/price-lists/sweep-schedule';
import { completed, createKeyRecord, failed, processing, released, TEST_LISTS } from '../../support/key-records';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

/** Checks the effect of single events. key-state-machine.test.ts has the properties of any order of events. */

const NOW = 10_000;

const { owner, fingerprint, document_id } = processing;
const attempt = { ...createKeyRecord(), owner: 'new', document_id: 'new' };
const { info } = parseSubmission(createPriceListBody(1));
const claim = { kind: 'claim', attempt, info, isStored: true } as const;
const claimOfLists = { ...claim, attempt: { ...attempt, lists: TEST_LISTS } };
const decision = { document_id, by: 'operator', reason: 'checked' };
const resume = { kind: 'resume', ...decision, attempt: { owner: 'new' }, isAutomatic: false } as const;
const failPermanently = { kind: 'fail_permanently', document_id, reason: 'chunks are missing' } as const;

const apply = (record: KeyRecord | undefined, event: KeyEvent, now = NOW) => transition(record, event, now);
const getOutcome = (record: KeyRecord | undefined, caller: CallerIdentity | null = null) =>
  apply(record, { kind: 'expire', caller }).outcome;

describe('an event', () => {
  test('claim takes a key with a lease, and keeps the earlier attempts and actions', () => {
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
    expect(requireKeyRecord({ ...again })).toEqual(again);
  });

  test('claim keeps the fields of the earlier attempt that only a later version knows', () => {
    const { record } = apply(Object.assign({}, released, { added_later: 7 }), claimOfLists);
    expect(record?.history).toEqual([expect.objectContaining({ document_id, added_later: 7 })]);
    expect(record).not.toHaveProperty('added_later');
  });

  test('resume gives an attempt a new owner with a lease, and records the action', () => {
    const progress = { entries_written: 1, entries_total: 2 };
    expect(apply({ ...failed, automatic_resumes: 2, progress }, resume).record).toEqual({
      ...failed,
      status: 'processing',
      owner: 'new',
      lease_expires_at: NOW + LEASE_DURATION_MS,
      updated_at: NOW,
      automatic_resumes: 0,
      actions: [{ action: 'resume', at: NOW, by: 'operator', reason: 'checked' }],
    });
  });

  test('fail_permanently leaves a key to an operator permanently, and changes no key that is already left to one', () => {
    const { record, outcome } = apply(failed, failPermanently);
    const failure = { failure: 'chunks are missing', failure_cause: 'error', updated_at: NOW };
    expect(record).toEqual({ ...failed, ...failure });
    expect(outcome).toEqual({ kind: 'blocked', by: 'review', retryAfterMs: null });
    const left = { ...failed, failure_cause: 'error' } as const;
    expect(apply(left, failPermanently).record).toBe(left);
    expect(apply({ ...left, document_id: 'another' }, failPermanently).record).toMatchObject({ failure: left.failure });
  });

  test('release frees a completion without lists, whose next claim moves the response to the history', () => {
    const { record, outcome } = apply(completed, { kind: 'release', ...decision });
    expect(record).toMatchObject({ status: 'released', response: '{}', actions: [{ action: 'release', at: NOW }] });
    expect(outcome).toEqual({ kind: 'released' });
    const again = apply(record, claimOfLists).record;
    expect(again).toMatchObject({ document_id: 'new', status: 'processing', response: null });
    expect(again?.history).toMatchObject([{ document_id, response: '{}', settled_at: NOW }]);
    expect(getOutcome(record, { owner: 'late', fingerprint, document_id: 'late' })).toEqual({ kind: 'available' });
    // The client of the released attempt sent the same payload again.
    expect(getOutcome(apply(record, claim).record, { fingerprint, document_id })).toMatchObject({ kind: 'completed' });
  });

  test.each<KeyEvent>([
    { ...claim, attempt: processing },
    { ...resume, attempt: { owner } },
  ])('$kind by the owner keeps the attempt, although its lease has expired (bullmq #3183)', (event) => {
    expect(apply(processing, event, processing.lease_expires_at).record).toBe(processing);
  });
});

describe('a key', () => {
  const own = { owner, fingerprint, document_id };
  const other = { owner: 'other', fingerprint, document_id: 'other' };
  const review = (retryAfterMs: number | null): KeyOutcome => ({ kind: 'blocked', by: 'review', retryAfterMs });

  test.each<[string, KeyRecord, KeyOutcome, KeyOutcome, KeyOutcome]>([
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
      { kind: 'completed', record: completed, response: '{}', isOwn: true },
      { kind: 'completed', record: completed, response: '{}', isOwn: false },
      { kind: 'completed', record: completed, response: '{}', isOwn: false },
    ],
    ['whose response is missing', { ...completed, response: null }, review(null), review(null), review(null)],
    [
      'that failed',
      failed,
      { kind: 'failed', reason: 'the time is up', retryAfterMs: SWEEP_WAIT_MS },
      review(SWEEP_WAIT_MS),
      review(SWEEP_WAIT_MS),
    ],
    [
      'that failed without a reason',
      { ...failed, failure: null, failure_cause: null },
      { kind: 'failed', reason: 'unknown', retryAfterMs: null },
      review(null),
      review(null),
    ],
    ['that was released', released, { kind: 'released' }, { kind: 'available' }, { kind: 'available' }],
  ])('%s has an outcome for its attempt, another attempt and a sweep', (_, record, forOwn, forOther, forSweep) => {
    expect(getOutcome(record, own)).toEqual(forOwn);
    expect(getOutcome(record, other)).toEqual(forOther);
    expect(getOutcome(record)).toEqual(forSweep);
  });

  test('that was claimed with another payload after its release is `released` for the earlier attempt', () => {
    const archived = { ...createKeyRecord({ document_id: 'earlier' }), settled_at: 1 };
    const record = { ...processing, fingerprint: 'another', history: [archived] };
    expect(getOutcome(record, { ...own, document_id: 'earlier' })).toEqual({ kind: 'released' });
    expect(getOutcome(record, { ...other })).toEqual({ kind: 'payload_mismatch' });
    for (const kind of ['release', 'resume'] as const)
      expect(apply(record, { ...resume, kind, document_id: 'earlier' })).toEqual({
        record,
        outcome: { kind: 'released' },
      });
  });
});

describe('the sweep', () => {
  test('does not count a resume that was stopped, and the key has its earlier failure again', () => {
    const swept = apply(failed, { ...resume, by: 'sweep', isAutomatic: true }).record;
    expect(swept).toMatchObject({ automatic_resumes: 1, actions: [{ by: 'sweep' }] });
    if (swept === undefined) throw new Error('there is no record');
    const event = { kind: 'fail', attempt: swept, reason: 'SIGTERM' } as const;
    const stopped = apply(swept, { ...event, cause: 'stopped' }).record;
    expect(stopped).toMatchObject({
      automatic_resumes: 0,
      actions: [],
      status: 'requires_review',
      failure: failed.failure,
    });
    expect(apply(swept, { ...event, cause: 'timeout' }).record).toMatchObject({ automatic_resumes: 1 });
  });
});
