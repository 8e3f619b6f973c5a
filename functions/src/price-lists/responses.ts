import { ApiError } from '../lib/errors';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, ClaimedLists } from '../lib/schemas/key-record';
import type { ListStatus, PriceListsResponse } from '../lib/schemas/responses';
import type { KeyOutcome } from './key-state-machine';

/** What add price lists shows of an attempt: its list documents, the body of a success, and the error for every other outcome. */

/**
 * Creates both list documents of an attempt (docs/data-model.md#written-by-add-price-lists), with
 * the status that they have since `updated_at`.
 */
export function createListDocuments(
  { market_id, claimed_at }: Pick<Attempt, 'market_id' | 'claimed_at'>,
  { currency, market_iso }: ClaimedLists,
  { name, date }: PriceListInfo,
  status: ListStatus,
  updated_at: number,
) {
  const new_date = { year: Number(date.slice(3)), month: Number(date.slice(0, 2)) };
  const shared = { status, created_at: claimed_at, updated_at, currency, market_id, market_iso, name, new_date };
  return { expected_forward_cost: shared, price_list: { ...shared, date } };
}

/** What the response tells of an attempt. */
type ReportedAttempt = Pick<Attempt, 'creation' | 'market_id' | 'products_count' | 'document_id' | 'claimed_at'>;

/** Creates the success response of an attempt. Every identical request gets these bytes. */
export function createSuccessResponse(attempt: ReportedAttempt, info: PriceListInfo, completedAt: number): string {
  const { creation, market_id, products_count, document_id } = attempt;
  const stored = { success: true as const, message: 'Payload is valid and stored', products_count, document_id };
  const toText = (response: PriceListsResponse) => JSON.stringify(response);
  if (creation === null) return toText({ ...stored, market: null, expected_forward_cost: null, price_list: null });
  const { expected_forward_cost, price_list } = createListDocuments(attempt, creation, info, 'ready', completedAt);
  return toText({
    ...stored,
    market: { id: market_id, name: creation.market_name, iso: creation.market_iso },
    expected_forward_cost: { id: creation.expected_forward_cost_id, ...expected_forward_cost },
    price_list: { id: creation.price_list_id, ...price_list },
  });
}

/** The stored response, of this request's attempt or of an earlier one for an identical request. */
export interface CreationResult {
  response: string;
  replayed: boolean;
}

/**
 * Returns the response of a request, or throws what became of its key in place of one.
 *
 * @param cause the error for which the request's own attempt was not completed
 * @throws ApiError idempotency_key_reused, request_in_progress, review_required, creation_failed
 */
export function requireCreated(outcome: KeyOutcome, cause?: unknown): CreationResult {
  switch (outcome.kind) {
    case 'completed':
      return { response: outcome.response, replayed: !outcome.isOwn };
    case 'payload_mismatch':
      throw new ApiError('idempotency_key_reused', 'another payload holds the key', { cause });
    case 'blocked': {
      const headers = getRetryAfter(outcome.retryAfterMs);
      if (outcome.by === 'review') {
        const needsOperator = outcome.retryAfterMs === null;
        throw new ApiError('review_required', 'the key requires review', { cause, headers, needsOperator });
      }
      throw new ApiError('request_in_progress', 'an attempt on the key is in progress', { cause, headers });
    }
    case 'available':
      throw new ApiError('review_required', 'an operator released the key meanwhile', { cause });
    case 'failed':
      throw new ApiError('creation_failed', outcome.reason, {
        cause,
        headers: getRetryAfter(outcome.retryAfterMs),
        needsOperator: outcome.retryAfterMs === null,
      });
    case 'owned':
      throw new ApiError('creation_failed', 'the attempt failed', { cause });
  }
}

/** The header stands exactly where the same request may succeed later without a person. */
const getRetryAfter = (ms: number | null): Record<string, string> =>
  ms === null ? {} : { 'Retry-After': String(Math.ceil(ms / 1000)) };
