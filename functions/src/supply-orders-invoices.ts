import { defineEndpoint } from './lib/http/endpoint';
import { createJsonParser } from './lib/http/json';
import { streamRecordArray } from './lib/http/lists';
import { readSupplyOrders } from './lib/repositories/organisation';
import { validateWith, supplyOrdersInvoicesRequestSchema } from './lib/schemas/requests';
import { READ_BODY_TIMEOUT_MS, rangeOptions } from './lib/settings';

/** Supply orders invoices (contract, section 4.5). */
export const supplyOrdersInvoices = defineEndpoint({
  name: 'supplyOrdersInvoices',
  method: 'POST',
  runtimeOptions: rangeOptions,
  bodyTimeoutMs: READ_BODY_TIMEOUT_MS,
  createParser: () => createJsonParser(validateWith(supplyOrdersInvoicesRequestSchema)),
  handler: ({ callContext }, request) => ({
    body: streamRecordArray('supply_orders', readSupplyOrders(callContext, request)),
  }),
});
