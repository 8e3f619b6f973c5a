import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';

/** The parents of the two lists (contract, section 2.6), and the answer that shows them. */

export type ListStatus = 'processing' | 'ready' | 'failed';

/** The parent of an expected forward cost list, as it is stored under its id. */
export interface ListParent {
  status: ListStatus;
  created_at: number;
  updated_at: number;
  currency: string;
  market_id: string;
  market_iso: string | null;
  name: string;
  new_date: { year: number; month: number };
}

/** The parent of a price list: the same, and the month as MM/YYYY. */
export type PriceListParent = ListParent & { date: string };

export interface Parents {
  expectedForwardCost: ListParent;
  priceList: PriceListParent;
}

/** Both parents of an attempt's creation, in a status that they took at a time. */
export function parentsOf(
  { market_id, claimed_at }: Attempt,
  { currency, market_iso }: Creation,
  { name, date }: Pick<PriceListInfo, 'name' | 'date'>,
  status: ListStatus,
  updated_at: number,
): Parents {
  const new_date = { year: Number(date.slice(3)), month: Number(date.slice(0, 2)) };
  const parent = { status, created_at: claimed_at, updated_at, currency, market_id, market_iso, name, new_date };
  return { expectedForwardCost: parent, priceList: { ...parent, date } };
}

/** The answer of an attempt that is complete at a time: the bytes that every identical request gets for ever. */
export function successfulResponse(
  attempt: Attempt,
  info: Pick<PriceListInfo, 'name' | 'date'>,
  completed_at: number,
): string {
  const { creation, market_id, products_count, document_id } = attempt;
  const stored = { success: true, message: 'Payload is valid and stored', products_count, document_id };
  if (creation === null) {
    return JSON.stringify({ ...stored, market: null, expected_forward_cost: null, price_list: null });
  }
  const { expectedForwardCost, priceList } = parentsOf(attempt, creation, info, 'ready', completed_at);
  return JSON.stringify({
    ...stored,
    market: { id: market_id, name: creation.market_name, iso: creation.market_iso },
    expected_forward_cost: { id: creation.expected_forward_cost_id, ...expectedForwardCost },
    price_list: { id: creation.price_list_id, ...priceList },
  });
}
