import { defineEndpoint } from './lib/http/endpoint';
import { streamRecordArray } from './lib/http/list-response';
import { readSupplyOrders } from './lib/repositories/organisation';
import { defineReadBody, supplyOrdersInvoicesRequestSchema } from './lib/schemas/requests';
import { rangeOptions } from './lib/runtime-options';

export const supplyOrdersInvoices = defineEndpoint({
  name: 'supplyOrdersInvoices',
  runtimeOptions: rangeOptions,
  body: defineReadBody(supplyOrdersInvoicesRequestSchema),
  handler: (context, request) => ({
    body: streamRecordArray('supply_orders', readSupplyOrders(context, request)),
  }),
});
