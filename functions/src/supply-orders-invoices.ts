import { defineEndpoint } from './lib/http/endpoint';
import { createJsonParser } from './lib/json/body-parser';
import { streamRecordArray } from './lib/http/list-response';
import { MAX_READ_BODY_BYTES } from './lib/payload-limits';
import { readSupplyOrders } from './lib/repositories/organisation';
import { validateWith, supplyOrdersInvoicesRequestSchema } from './lib/schemas/requests';
import { READ_BODY_TIMEOUT_MS, rangeOptions } from './lib/runtime-options';

export const supplyOrdersInvoices = defineEndpoint({
  name: 'supplyOrdersInvoices',
  method: 'POST',
  runtimeOptions: rangeOptions,
  body: {
    maxBytes: MAX_READ_BODY_BYTES,
    timeoutMs: READ_BODY_TIMEOUT_MS,
    createParser: () => createJsonParser(validateWith(supplyOrdersInvoicesRequestSchema)),
  },
  handler: ({ callContext }, request) => ({
    body: streamRecordArray('supply_orders', readSupplyOrders(callContext, request)),
  }),
});
