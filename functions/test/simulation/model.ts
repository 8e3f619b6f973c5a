import assert from 'node:assert/strict';
import { ApiError } from '../../src/lib/errors';
import { isTransientCause, MAX_AUTOMATIC_RESUMES } from '../../src/price-lists/sweep-schedule';
import { PayloadNotStoredError } from '../../src/price-lists/attempt';
import type { PriceListSubmission } from '../../src/price-lists/submission-parser';
import type { CreationResult } from '../../src/price-lists/creation-result';
import { computeFingerprint } from '../../src/price-lists/payload';
import type { KeyMoment, KeyMonitor, KeyState } from '../resilience/monitor';
import { isOwner, ProcessCrashed, type Process } from './world';

/** Checks each response against every state that its key record had between the request and the response. */

export type ClientResult =
  | ({ kind: 'stored' } & CreationResult)
  | { kind: 'rejected'; error: ApiError }
  | { kind: 'unexpected'; error: unknown }
  /** The process died during the request. */
  | { kind: 'lost' };

export interface ObservedResponse {
  submission: PriceListSubmission;
  process: Process;
  result: ClientResult;
  /** The index of the key's state when the request began, for {@link KeyMonitor.since}. */
  mark: number;
}

/** Retries overcome at least this number of faults. */
export const MAX_TOLERATED_FAULTS = 5;

const SECOND = 1_000;

export function toClientResult(error: unknown): ClientResult {
  if (error instanceof ProcessCrashed) return { kind: 'lost' };
  return error instanceof ApiError ? { kind: 'rejected', error } : { kind: 'unexpected', error };
}

export const getResultName = (result: ClientResult): string => {
  if (result.kind === 'rejected') return result.error.code;
  return result.kind === 'stored' && result.replayed ? 'replayed' : result.kind;
};

/** Returns whether the retries of the process must overcome every fault that it met. */
export const isUndisturbed = ({ faultCount, conflicts, permanent, lostMs, stopped }: Process): boolean =>
  faultCount + conflicts <= MAX_TOLERATED_FAULTS && !permanent && !stopped && lostMs < 15 * SECOND;

export class ResponseModel {
  /** The stored response of each attempt, by its `document_id`. */
  readonly #responses = new Map<string, string>();
  readonly #created = new Set<string>();

  constructor(
    /** Checks everything that is stored. */
    private readonly checkStored: () => Promise<unknown>,
    private readonly history: KeyMonitor,
    private readonly getNow: () => number,
  ) {}

  async assertResponse(observed: ObservedResponse): Promise<void> {
    const { submission, process, result, mark } = observed;
    const key = submission.info.boq_list_id;
    const moments = this.history.since(key, mark);
    const states = moments.map(({ state }) => state);
    assert(process.conflicts < states.length, 'a precondition fails only where another event was applied');
    switch (result.kind) {
      case 'lost':
        return;
      case 'stored':
        await this.#assertStored(observed, result);
        return;
      case 'rejected':
        this.#assertRejected(observed, result.error, moments);
        return;
      case 'unexpected': {
        assert(!isUndisturbed(process), `retries overcome what they can: ${String(result.error)}`);
        // Before a request gives up its claim, it reads the record, with retries of its own. So it
        // takes twice as many faults until this read fails too.
        const wasRead = process.faultCount <= 2 * MAX_TOLERATED_FAULTS && process.lostMs < 30 * SECOND;
        const claimed = states.some((state) => isOwner(process, state));
        assert(!claimed || !wasRead || process.permanent || process.stopped, 'no request is rejected by its own claim');
      }
    }
  }

  async #assertStored(
    { submission, process }: ObservedResponse,
    { response, replayed }: CreationResult,
  ): Promise<void> {
    const record = this.history.now(submission.info.boq_list_id);
    assert.equal(record?.status, 'completed', 'only a completed key gets 200');
    assert.equal(record.fingerprint, computeFingerprint(submission), 'a payload gets its own response');
    assert.equal(record.response, response, 'the response is the stored one, byte for byte');
    const attempt = record.document_id;
    assert.equal(this.#responses.get(attempt) ?? response, response, 'the response of an attempt never changes');
    this.#responses.set(attempt, response);
    if (replayed) return;
    assert(!this.#created.has(attempt), 'one request gets the first response of an attempt, the others get replays');
    assert(isOwner(process, record), 'only the attempt that created the lists gets the first response');
    this.#created.add(attempt);
    await this.checkStored();
  }

  #assertRejected({ submission, process }: ObservedResponse, error: ApiError, moments: readonly KeyMoment[]): void {
    const states = moments.map(({ state }) => state);
    const fingerprint = computeFingerprint(submission);
    const isOwn = (state: KeyState) => isOwner(process, state);
    const own = states.find(isOwn);
    const isOwnAttempt = (state: KeyState) => own !== undefined && state?.document_id === own.document_id;
    const claimedAt = states.findIndex(isOwn);
    const isTouched = claimedAt >= 0 && moments.slice(claimedAt).some(({ by }) => by !== process.name);
    const isRefused = error.code !== 'creation_failed';
    assert(own === undefined || isTouched || !isRefused, 'a request whose attempt nobody else touched is not refused');
    const isStale = states.some((state) => isOwnAttempt(state) && state?.failure_cause === 'lease_expired');
    switch (error.code) {
      case 'idempotency_key_reused': {
        const differs = (state: KeyState) =>
          state !== undefined && state.fingerprint !== fingerprint && state.status !== 'released';
        assert(states.some(differs), 'a payload differs only where another holds the key');
        assert(own === undefined, 'an attempt never differs from its own claim');
        break;
      }
      case 'request_in_progress': {
        const retryAfter = Number(error.headers['Retry-After']);
        assert.equal(retryAfter, 10, 'a Retry-After follows from the number of products');
        const isOther = (state: KeyState) => state?.status === 'processing' && !isOwn(state);
        assert(states.some(isOther), 'a client comes back only to an attempt of another request');
        break;
      }
      case 'review_required': {
        this.#assertSweepPromise(error, states, fingerprint);
        const isOpen = (state: KeyState) =>
          state?.status === 'requires_review' ||
          state?.status === 'released' ||
          (state?.status === 'processing' && state.lease_expires_at <= this.getNow()) ||
          (own !== undefined && state !== undefined && state.fingerprint !== fingerprint);
        assert(states.some(isOpen), 'a client waits for an operator only where one is needed');
        // An operator can release a completion without lists while its request repeats a claim whose reply was lost.
        const isReleased = states.some((state) => isOwnAttempt(state) && state?.status === 'released');
        assert(own === undefined || isReleased || !isUndisturbed(process), 'an undisturbed attempt keeps its lease');
        break;
      }
      default:
        assert.equal(error.code, 'creation_failed');
        if (error.cause instanceof PayloadNotStoredError)
          assert.equal(error.headers['Retry-After'], undefined, 'no sweep resumes an attempt without its payload');
        // After a permanent fault the response promises no resume, but the sweep resumes the key if the failure was not stored.
        else if (states.at(-1)?.status === 'requires_review' && !process.permanent)
          this.#assertSweepPromise(error, states, fingerprint);
        assert(own !== undefined, 'only a claimed attempt fails');
        assert(!isUndisturbed(process), 'retries overcome what they can');
        // An attempt that was only frozen reads the state of its key, unless the freeze exceeds the
        // time that is reserved for this.
        assert(
          !isStale || process.faultCount > 0 || process.conflicts > 0 || process.isReserveUsed,
          'a stale attempt does not fail its request',
        );
    }
    const isFinal = states.length === 1 && states[0]?.status === 'completed';
    if (isFinal) {
      assert.equal(error.code, 'idempotency_key_reused', 'a completed key always returns 200 to its own payload');
    }
  }

  /** Asserts that a Retry-After promises a resume by the sweep, and that without it an operator is needed. */
  #assertSweepPromise({ headers }: ApiError, states: readonly KeyState[], fingerprint: string): void {
    const isSwept = (state: KeyState) =>
      state !== undefined &&
      (state.status === 'processing' ||
        (state.status === 'requires_review' && isTransientCause(state.failure_cause))) &&
      state.automatic_resumes < MAX_AUTOMATIC_RESUMES;
    const needsOperator = (state: KeyState) =>
      state !== undefined && (!isSwept(state) || state.fingerprint !== fingerprint);
    if (headers['Retry-After'] === undefined) {
      assert(states.some(needsOperator), 'without a Retry-After an operator is needed');
      return;
    }
    assert.equal(headers['Retry-After'], '65', 'a Retry-After leads to the next sweep');
    assert(states.some(isSwept), 'a Retry-After promises an attempt that goes on without a person');
  }
}
