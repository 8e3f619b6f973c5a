import { endpoint } from './lib/http/endpoint';
import { wholeJson } from './lib/http/json';
import { plainList } from './lib/http/lists';
import { readSupplyOrders } from './lib/repositories/organisation';
import { judgeBy, supplyOrdersInvoicesRequest } from './lib/schemas/requests';
import { READ_BODY_MS, rangeSettings } from './lib/settings';

/** Supply orders invoices (contract, section 4.5). */
export const supplyOrdersInvoices = endpoint({
  name: 'supplyOrdersInvoices',
  method: 'POST',
  settings: rangeSettings,
  bodyMs: READ_BODY_MS,
  reader: () => wholeJson(judgeBy(supplyOrdersInvoicesRequest)),
  work: ({ usage }, request) => ({ body: plainList('supply_orders', readSupplyOrders(usage, request)) }),
});
