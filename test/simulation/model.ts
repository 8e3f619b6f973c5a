import assert from 'node:assert/strict';
import { ApiError } from '../../functions/src/lib/errors';
import type { PriceListSubmission } from '../../functions/src/lib/schemas/add-price-lists';
import type { CreationResult } from '../../functions/src/price-lists/create';
import { computeFingerprint } from '../../functions/src/price-lists/payload';
import type { KeyMoment, KeyMonitor, KeyState } from '../harness/monitor';
import { isOwner, ProcessCrashed, type Process } from './world';

/** Checks each response against the states that its key record had between the request and the response. */

export type ClientResult =
  | ({ kind: 'stored' } & CreationResult)
  | { kind: 'rejected'; error: ApiError }
  | { kind: 'unexpected'; error: unknown }
  /** The process died during the request. */
  | { kind: 'lost' };

interface ObservedResponse {
  submission: PriceListSubmission;
  process: Process;
  result: ClientResult;
  /** The index of the key's state when the request began, for {@link KeyMonitor.since}. */
  mark: number;
}

/** Retries overcome at least this number of faults. */
const MAX_TOLERATED_FAULTS = 5;

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
    private readonly checkStored: () => Promise<unknown>,
    private readonly history: KeyMonitor,
    private readonly getNow: () => number,
  ) {}

  async assertResponse(observed: ObservedResponse): Promise<void> {
    const { submission, process, result, mark } = observed;
    const moments = this.history.since(submission.info.boq_list_id, mark);
    assert(process.conflicts < moments.length, 'a precondition fails only where another event was applied');
    switch (result.kind) {
      case 'lost':
        return;
      case 'stored':
        await this.#assertStored(observed, result);
        return;
      case 'rejected':
        this.#assertRejected(observed, result.error, moments);
        return;
      case 'unexpected':
        // The claim may have taken effect. If so, the end of the schedule checks that its attempt has ended.
        assert(!isUndisturbed(process), `an undisturbed process overcomes its faults: ${String(result.error)}`);
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
    assert(
      !this.#created.has(attempt),
      'one request gets the first response of an attempt, and the others get replays',
    );
    assert(isOwner(process, record), 'only the request that completed its own attempt gets the first response');
    this.#created.add(attempt);
    await this.checkStored();
  }

  #assertRejected({ submission, process }: ObservedResponse, error: ApiError, moments: readonly KeyMoment[]): void {
    const states = moments.map(({ state }) => state);
    const fingerprint = computeFingerprint(submission);
    const isOwn = (state: KeyState) => isOwner(process, state);
    const claimedAt = states.findIndex(isOwn);
    const own = states[claimedAt];
    const isOwnAttempt = (state: KeyState) => own !== undefined && state?.document_id === own.document_id;
    const isTouched = claimedAt >= 0 && moments.slice(claimedAt).some(({ by }) => by !== process.name);
    const isRefused = error.code !== 'creation_failed';
    assert(own === undefined || isTouched || !isRefused, 'a request whose attempt nobody else touched is not refused');
    const isWritten = moments.slice(1).some(({ by }) => by === process.name);
    assert(own !== undefined || !isWritten, 'a request without a claim of its own writes nothing');
    // An operator can release an attempt that has failed, that completed without lists, or whose lease has expired.
    const isReleased = states.some((state) => isOwnAttempt(state) && state?.status === 'released');
    switch (error.code) {
      case 'idempotency_key_reused': {
        const differs = (state: KeyState) =>
          state !== undefined && state.fingerprint !== fingerprint && state.status !== 'released';
        assert(states.some(differs), 'idempotency_key_reused is only for a key that another payload holds');
        assert(
          own === undefined || isReleased,
          'a request that claimed the key gets idempotency_key_reused only after a release',
        );
        break;
      }
      case 'request_in_progress': {
        assert.equal(error.headers['Retry-After'], '10', 'a Retry-After follows from the number of products');
        const isOther = (state: KeyState) => state?.status === 'processing' && !isOwn(state);
        assert(states.some(isOther), 'request_in_progress is only for an attempt of another owner');
        break;
      }
      case 'review_required': {
        assertSweepPromise(error, states);
        const isOpen = (state: KeyState) =>
          state?.status === 'requires_review' ||
          state?.status === 'released' ||
          (state?.status === 'processing' && state.lease_expires_at <= this.getNow());
        assert(states.some(isOpen), 'review_required is only for a key in review, released or with an expired lease');
        assert(own === undefined || isReleased || !isUndisturbed(process), 'an undisturbed attempt keeps its lease');
        break;
      }
      default: {
        assert.equal(error.code, 'creation_failed');
        assertSweepPromise(error, states);
        assert(own !== undefined, 'creation_failed is only for a request that claimed the key');
        assert(!isUndisturbed(process), 'an undisturbed process overcomes its faults');
        const isStale = states.some((state) => isOwnAttempt(state) && state?.failure_cause === 'lease_expired');
        const isStored = !error.message.includes('the failure may not have been stored');
        assert(!isStale || !isStored, 'a stale attempt stores no failure');
        assert(
          isStored || error.headers['Retry-After'] !== undefined,
          'a failure that could not be stored gets a Retry-After',
        );
      }
    }
    const isFinal = states.length === 1 && states[0]?.status === 'completed';
    if (isFinal)
      assert.equal(error.code, 'idempotency_key_reused', 'a completed key always returns 200 to its own payload');
  }
}

/**
 * Asserts that, at some moment of the request, the attempt could continue without an operator if the response has a
 * Retry-After, and could not if the response has none.
 */
function assertSweepPromise({ headers }: ApiError, states: readonly KeyState[]): void {
  if (headers['Retry-After'] === undefined) {
    const needsOperator = (state: KeyState) =>
      state?.status === 'released' || (state?.status === 'requires_review' && !isSwept(state));
    assert(states.some(needsOperator), 'without a Retry-After, the attempt needs an operator or was released');
    return;
  }
  assert.equal(headers['Retry-After'], '65', 'a Retry-After leads to the next sweep');
  assert(states.some(isSwept), 'a Retry-After promises an attempt that continues without an operator');
}

/**
 * Whether an attempt can continue without an operator: while it is in progress, because its owner may still be running,
 * and after a transient failure until four tries have failed.
 */
function isSwept(state: KeyState): boolean {
  if (state?.status === 'processing') return true;
  return state?.status === 'requires_review' && state.failure_cause !== 'error' && state.failed_tries <= 3;
}
