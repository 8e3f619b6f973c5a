import createClient from 'openapi-fetch';
import type { paths } from '../../../docs/examples/client/src/api';

/**
 * A program of openapi-fetch with the types of openapi-typescript, which `npm run check` compiles.
 * It reads members of objects that may be null: generators lose those of some ways to describe one.
 */

const client = createClient<paths>({ baseUrl: 'https://a.example', headers: { 'x-api-key': 'a' } });

const range = { team_id: 'a', start_date: '2026-01-01', end_date: '2026-02-01' };
const submission = {
  info: { market_id: 'a', boq_list_id: 'b', currency_iso: 'KES', date: '06/2026', name: 'June' },
  products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
};

export async function readEverything(): Promise<(string | number | null | undefined)[]> {
  const created = await client.POST('/addPriceLists', { body: submission });
  const orders = await client.POST('/getOrdersByTeam', { body: { ...range, status: 'ALL' } });
  const supplied = await client.POST('/supplyOrdersInvoices', { body: { ...range, status: null } });
  const markets = await client.GET('/getMarkets');
  const teams = await client.GET('/getTeams');
  const warehouses = await client.GET('/getWarehouses');
  return [
    created.data?.price_list?.new_date.month,
    created.data?.expected_forward_cost?.status,
    created.data?.market?.iso,
    orders.data?.orders['a']?.customer_data.customer_name,
    supplied.data?.supply_orders[0]?.invoices[0]?.url,
    markets.data?.markets['a']?.currency_iso,
    teams.data?.teams['a']?.name,
    warehouses.data?.warehouses['a']?.country_iso,
  ];
}
