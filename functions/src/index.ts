import { startInstance } from './lib/http/instance';

export { addPriceLists } from './add-price-lists';
export { getMarkets } from './get-markets';
export { getOrdersByTeam } from './get-orders-by-team';
export { getTeams } from './get-teams';
export { getWarehouses } from './get-warehouses';
export { supplyOrdersInvoices } from './supply-orders-invoices';
export { sweepPriceLists } from './sweep-price-lists';

/** Every process that loads this module serves functions. The index that the build writes makes the same call. */
startInstance();
