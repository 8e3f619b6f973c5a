import type { ListKind } from '../../functions/src/lib/repositories/lists';
import type { KeyLists, KeyRecord, KeyStatus } from '../../functions/src/lib/schemas/key-record';

/**
 * What the lists, entries and response of an attempt must hold, according to docs/data-model.md and docs/openapi.json. The
 * service's code that writes them is not used here, so the audit finds a member that the service adds or leaves out.
 */

export const LIST_STATUS: Record<KeyStatus, string> = {
  processing: 'processing',
  completed: 'ready',
  requires_review: 'failed',
  released: 'failed',
};

/** The field of a product's price in the payload. An entry stores it under the same name. */
export const PRICE_OF = {
  expected_forward_cost: 'expected_forward_cost_price',
  price_list: 'price_list_price',
} as const satisfies Record<ListKind, string>;

type ListFacts = Pick<KeyRecord, 'status' | 'claimed_at' | 'updated_at' | 'market_id' | 'name' | 'date'>;

export function createExpectedList(attempt: ListFacts, lists: KeyLists, kind: ListKind) {
  const { status, claimed_at, updated_at, market_id, name, date } = attempt;
  const [month, year] = date.split('/').map(Number);
  return {
    status: LIST_STATUS[status],
    created_at: claimed_at,
    updated_at,
    market_id,
    name,
    currency: lists.currency,
    market_iso: lists.market_iso,
    new_date: { year, month },
    ...(kind === 'price_list' && { date }),
  };
}

type ResponseFacts = ListFacts & Pick<KeyRecord, 'products_count' | 'document_id' | 'lists'>;

export function createExpectedResponse(attempt: ResponseFacts) {
  const { products_count, document_id, market_id, lists } = attempt;
  const toList = (kind: ListKind) => lists && { id: lists[`${kind}_id`], ...createExpectedList(attempt, lists, kind) };
  return {
    success: true,
    message: 'Payload is valid and stored',
    products_count,
    document_id,
    market: lists && { id: market_id, name: lists.market_name, iso: lists.market_iso },
    expected_forward_cost: toList('expected_forward_cost'),
    price_list: toList('price_list'),
  };
}
