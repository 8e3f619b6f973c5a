/**
 * Names of collections and of the fields in queries: for a database with other names, change these and
 * firestore.indexes.json. All times are integer Unix milliseconds; see docs/data-model.md.
 */
export const collections = {
  orders: 'orders',
  warehouses: 'warehouses',
  markets: 'markets',
  teams: 'teams',
  supplyOrders: 'supply_orders',
  priceListRequests: 'price_list_requests',
  expectedForwardCosts: 'expected_forward_costs',
  priceLists: 'price_lists',
  priceListIdempotency: 'price_list_idempotency',
} as const;

/** The entries of a list, and the payload chunks of a request record. */
export const subcollections = { products: 'products', payload: 'payload' } as const;

export const fields = {
  order: {
    team: 'team_id',
    status: 'status',
    createdAt: 'created_at',
    market: 'market_id',
    invoice: 'invoice_id',
    customerId: 'customer_data.customer_id',
    customerName: 'customer_data.customer_name',
  },
  warehouse: { name: 'name', country: 'country_iso' },
  market: { name: 'name.en', country: 'country_iso', currency: 'currency_iso' },
  team: { name: 'name', country: 'country_iso' },
  supplyOrder: { team: 'team_id', status: 'status', createdAt: 'created_at', invoices: 'invoices' },
  entry: { priceListPrice: 'price_list_price', expectedForwardCostPrice: 'expected_forward_cost_price' },
  payloadChunk: { data: 'data' },
  request: {
    boqListId: 'info.boq_list_id',
    priceList: 'price_list_id',
    expectedForwardCost: 'expected_forward_cost_id',
    requestId: 'request_id',
  },
  key: { boqListId: 'boq_list_id', status: 'status' },
} as const;
