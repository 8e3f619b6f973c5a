import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';
import type { AddPriceListsResponse, ListStatus } from '../lib/schemas/responses';

/** The documents of the two lists (docs/data-model.md#written-by-add-price-lists), and the response that shows them. */

/** Creates both list documents of an attempt, with the status that they have since `updated_at`. */
export function createListDocuments(
  { market_id, claimed_at }: Attempt,
  { currency, market_iso }: Creation,
  { name, date }: PriceListInfo,
  status: ListStatus,
  updated_at: number,
) {
  const new_date = { year: Number(date.slice(3)), month: Number(date.slice(0, 2)) };
  const parent = { status, created_at: claimed_at, updated_at, currency, market_id, market_iso, name, new_date };
  return { expected_forward_cost: parent, price_list: { ...parent, date } };
}

/** Creates the success response of an attempt. Every identical request gets these bytes. */
export function createSuccessResponse(attempt: Attempt, info: PriceListInfo, completed_at: number): string {
  const { creation, market_id, products_count, document_id } = attempt;
  const stored = { success: true as const, message: 'Payload is valid and stored', products_count, document_id };
  const toText = (response: AddPriceListsResponse) => JSON.stringify(response);
  if (creation === null) return toText({ ...stored, market: null, expected_forward_cost: null, price_list: null });
  const { expected_forward_cost, price_list } = createListDocuments(attempt, creation, info, 'ready', completed_at);
  return toText({
    ...stored,
    market: { id: market_id, name: creation.market_name, iso: creation.market_iso },
    expected_forward_cost: { id: creation.expected_forward_cost_id, ...expected_forward_cost },
    price_list: { id: creation.price_list_id, ...price_list },
  });
}
