import { startInstance } from './lib/instance/start';

export { addPriceLists } from './add-price-lists';
export { getMarkets } from './get-markets';
export { getOrdersByTeam } from './get-orders-by-team';
export { getTeams } from './get-teams';
export { getWarehouses } from './get-warehouses';
export { supplyOrdersInvoices } from './supply-orders-invoices';
export { sweepPriceLists } from './sweep-price-lists';

// The deployed index.cjs, which dev/build/build.mjs writes, makes the same call.
startInstance();
