import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt, Creation } from '../lib/schemas/key-record';
import type { ListStatus } from '../lib/schemas/responses';

/**
 * Creates both list documents of an attempt (docs/data-model.md#written-by-add-price-lists), with the status that they have
 * since `updated_at`.
 */
export function createListDocuments(
  { market_id, claimed_at }: Pick<Attempt, 'market_id' | 'claimed_at'>,
  { currency, market_iso }: Creation,
  { name, date }: PriceListInfo,
  status: ListStatus,
  updated_at: number,
) {
  const new_date = { year: Number(date.slice(3)), month: Number(date.slice(0, 2)) };
  const shared = { status, created_at: claimed_at, updated_at, currency, market_id, market_iso, name, new_date };
  return { expected_forward_cost: shared, price_list: { ...shared, date } };
}
