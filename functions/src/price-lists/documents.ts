import type { ListDocuments } from '../lib/repositories/lists';
import { listInfoSchema } from '../lib/schemas/info';
import type { KeyLists, KeyRecord, KeyStatus } from '../lib/schemas/key-record';
import type { ListStatus, PriceListsResponse } from '../lib/schemas/responses';

/** Derives both list documents and the success response from a key record. */

/** The status of both lists follows from that of the key. No event leads from `completed` with lists to another status. */
const LIST_STATUS: Record<KeyStatus, ListStatus> = {
  processing: 'processing',
  completed: 'ready',
  requires_review: 'failed',
  released: 'failed',
};

/** docs/data-model.md#written-by-add-price-lists describes the fields. */
export function toListDocuments(record: KeyRecord, { currency, market_iso }: KeyLists): ListDocuments {
  const { status, claimed_at: created_at, updated_at } = record;
  const { date, ...info } = listInfoSchema.parse(record);
  const new_date = { year: Number(date.slice(3)), month: Number(date.slice(0, 2)) };
  const shared = { status: LIST_STATUS[status], created_at, updated_at, ...info, currency, market_iso, new_date };
  return { expected_forward_cost: shared, price_list: { ...shared, date } };
}

/** Returns the success response of a completed attempt. The key record stores it, and a replay receives the same bytes. */
export function toSuccessResponse(record: KeyRecord): string {
  const { lists, market_id, products_count, document_id } = record;
  const stored = { success: true as const, message: 'Payload is valid and stored', products_count, document_id };
  const toText = (response: PriceListsResponse) => JSON.stringify(response);
  if (lists === null) return toText({ ...stored, market: null, expected_forward_cost: null, price_list: null });
  const { expected_forward_cost, price_list } = toListDocuments(record, lists);
  return toText({
    ...stored,
    market: { id: market_id, name: lists.market_name, iso: lists.market_iso },
    expected_forward_cost: { id: lists.expected_forward_cost_id, ...expected_forward_cost },
    price_list: { id: lists.price_list_id, ...price_list },
  });
}
