import type { Attempt } from '../../functions/src/lib/schemas/key-record';
import type { Market, NamedRecord, Order, SupplyOrder } from '../../functions/src/lib/schemas/responses';
import { createSuccessResponse } from '../../functions/src/price-lists/list-documents';
import type { JsonObject } from './schemas';

/**
 * Example requests and responses, from the sample data of `npm start`. Error responses and the responses of add price
 * lists are made by the service's own code.
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

const order: Order = {
  customer_data: { customer_id: 'cus-113', customer_name: 'Blue Nile Civil Works Ltd' },
  invoice_id: 'inv-2026-00318',
  market_id: 'mkt-ken',
  team_id: 'team-east-africa',
};
const malformedOrder: Order = {
  customer_data: { customer_id: null, customer_name: null },
  invoice_id: null,
  market_id: null,
  team_id: 'team-east-africa',
};
const nairobi: NamedRecord = { name: 'Nairobi Embakasi', country_iso: 'KEN' };
const unnamed: NamedRecord = { name: null, country_iso: 'BEN' };
const kenya: Market = { name: 'Kenya', country_iso: 'KEN', currency_iso: 'KES' };
const eastAfrica: NamedRecord = { name: 'East Africa', country_iso: 'KEN' };
const supplyOrder: SupplyOrder = {
  id: 'sup-2026-0046',
  invoices: [
    {
      name: 'sup-2026-0046-invoice-1.pdf',
      url: 'https://documents.example.com/supply-orders/sup-2026-0046/sup-2026-0046-invoice-1.pdf',
    },
  ],
};

export const responses = {
  orders: { orders: { 'ord-2026-00318': order, 'ord-bad-missing': malformedOrder }, count: 2 },
  noOrders: { orders: {}, count: 0 },
  warehouses: { warehouses: { 'wh-nbo-1': nairobi, 'wh-coo-1': unnamed }, count: 2 },
  markets: { markets: { 'mkt-ken': kenya }, count: 1 },
  teams: { teams: { 'team-east-africa': eastAfrica }, count: 1 },
  supplyOrders: { supply_orders: [supplyOrder, { id: 'sup-2026-0047', invoices: [] }], count: 2 },
  created: created({
    expected_forward_cost_id: 'hT2mVw8kQe4RnYc1ZsBd',
    price_list_id: 'Jr6uXo0pLg3SfAa9KiWq',
    market_name: kenya.name,
    market_iso: kenya.country_iso,
    currency: priceList.info.currency_iso,
  }),
  accepted: created(null),
};

function created(creation: Attempt['creation']): JsonObject {
  const attempt: Attempt = {
    owner: 'none',
    lease_expires_at: 0,
    fingerprint: 'none',
    products_count: Object.keys(priceList.products).length,
    payload_chunks: 1,
    market_id: priceList.info.market_id,
    document_id: 'b7NqTz5yCx2DmEj8HvUl',
    creation,
    claimed_at: Date.UTC(2026, 4, 28, 9, 30, 0, 125),
  };
  const completed_at = attempt.claimed_at + 840;
  return JSON.parse(createSuccessResponse(attempt, priceList.info, completed_at)) as JsonObject;
}
