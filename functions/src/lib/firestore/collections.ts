/**
 * The names of collections, of the fields that other systems write, and of the prices in entries. For a database with
 * other names, change these and firestore.indexes.json. For other names of the prices in entries, also change
 * command/audit/expected.ts and attempt-reader.ts, where one constant names a price in both the payload and the entry.
 * All times are integer Unix milliseconds (docs/data-model.md).
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

/** `products` holds the entries of a list, `price_list_payload` the chunks of a payload. */
export const subcollections = { products: 'products', payload: 'price_list_payload' } as const;

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
  entry: { expected_forward_cost: 'expected_forward_cost_price', price_list: 'price_list_price' },
} as const;
