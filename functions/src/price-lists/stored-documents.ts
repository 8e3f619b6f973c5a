import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, ClaimedLists } from '../lib/schemas/key-record';
import type { ListStatus, PriceListsResponse } from '../lib/schemas/responses';

/** What an attempt stores for consumers and clients: both list documents and the success response. */

/** Creates both list documents (docs/data-model.md#written-by-add-price-lists). `updated_at`: when their status changed. */
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

/** Creates the success response of an attempt. The key record stores it, and a replay receives the same bytes. */
export function createSuccessResponse(attempt: Attempt, info: PriceListInfo, completedAt: number): string {
  const { lists, market_id, products_count, document_id } = attempt;
  const stored = { success: true as const, message: 'Payload is valid and stored', products_count, document_id };
  const toText = (response: PriceListsResponse) => JSON.stringify(response);
  if (lists === null) return toText({ ...stored, market: null, expected_forward_cost: null, price_list: null });
  const { expected_forward_cost, price_list } = createListDocuments(attempt, lists, info, 'ready', completedAt);
  return toText({
    ...stored,
    market: { id: market_id, name: lists.market_name, iso: lists.market_iso },
    expected_forward_cost: { id: lists.expected_forward_cost_id, ...expected_forward_cost },
    price_list: { id: lists.price_list_id, ...price_list },
  });
}
