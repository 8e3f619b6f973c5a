import { createExpectedResponse } from '../../../command/audit/expected';
import type { KeyLists } from '../../../functions/src/lib/schemas/key-record';

/**
 * Example bodies for operations.ts. The requests fit the sample data of `npm start`. The code of the audit creates the responses of
 * add price lists.
 */

export const ordersByTeam = {
  team_id: 'team-east-africa',
  status: 'DELIVERED',
  start_date: '2026-07-01',
  end_date: '2026-08-01',
};

export const supplyOrdersInvoices = { ...ordersByTeam, status: null, end_date: '2026-10-01' };

export const priceList = {
  info: {
    market_id: 'mkt-ken',
    boq_list_id: 'boq-2026-06',
    currency_iso: 'KES',
    date: '06/2026',
    name: 'Kenya, June 2026',
  },
  products: {
    'CEM-OPC-42N-50KG': { price_list_price: 947.94, expected_forward_cost_price: 826.71 },
    'CEM-OPC-32R-50KG': { price_list_price: 685.21, expected_forward_cost_price: 579.39 },
  },
};

export const responses = {
  created: created({
    expected_forward_cost_id: 'hT2mVw8kQe4RnYc1ZsBd',
    price_list_id: 'Jr6uXo0pLg3SfAa9KiWq',
    market_name: 'Kenya',
    market_iso: 'KEN',
    currency: priceList.info.currency_iso,
    currency_differs: false,
  }),
  accepted: created(null),
};

function created(lists: KeyLists | null): object {
  const { market_id, name, date } = priceList.info;
  const claimed_at = Date.UTC(2026, 4, 28, 9, 30, 0, 125);
  return createExpectedResponse({
    market_id,
    name,
    date,
    lists,
    products_count: Object.keys(priceList.products).length,
    document_id: 'b7NqTz5yCx2DmEj8HvUl',
    status: 'completed',
    claimed_at,
    updated_at: claimed_at + 840,
  });
}
