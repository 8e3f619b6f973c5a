import { defineEndpoint } from './lib/http/endpoint';
import { createJsonParser } from './lib/json/streaming-parser';
import { streamRecordArray } from './lib/http/list-response';
import { readSupplyOrders } from './lib/repositories/organisation';
import { validateWith, supplyOrdersInvoicesRequestSchema } from './lib/schemas/requests';
import { READ_BODY_TIMEOUT_MS, rangeOptions } from './lib/runtime-options';

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
