/** The six operations as a caller knows them, with a body that each POST accepts. */
export const operations = {
  getOrdersByTeam: {
    method: 'POST',
    body: { team_id: 'team-1', status: 'ALL', start_date: '2026-01-01', end_date: '2026-02-01' },
  },
  getWarehouses: { method: 'GET' },
  getMarkets: { method: 'GET' },
  getTeams: { method: 'GET' },
  supplyOrdersInvoices: {
    method: 'POST',
    body: { team_id: 'team-1', status: null, start_date: '2026-01-01', end_date: '2026-02-01' },
  },
  addPriceLists: {
    method: 'POST',
    body: {
      info: { market_id: 'market-1', boq_list_id: 'boq-1', currency_iso: 'usd', date: '06/2026', name: 'June' },
      products: {
        cement: { price_list_price: 12.5, expected_forward_cost_price: 10 },
        gravel: { price_list_price: 3, expected_forward_cost_price: 0 },
      },
    },
  },
} as const;

export type OperationName = keyof typeof operations;

export const operationNames = Object.keys(operations) as OperationName[];

/** The operations that take a body. */
export const postOperationNames = ['getOrdersByTeam', 'supplyOrdersInvoices', 'addPriceLists'] as const;

export type PostOperationName = (typeof postOperationNames)[number];
