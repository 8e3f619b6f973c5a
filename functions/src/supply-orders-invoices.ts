import { defineEndpoint } from './lib/http/endpoint';
import { streamRecordArray } from './lib/http/list-response';
import { jsonBody } from './lib/http/json-body';
import { readSupplyOrders } from './lib/repositories/organisation';
import { supplyOrdersInvoicesRequestSchema } from './lib/schemas/requests';
import { rangeOptions } from './lib/runtime-options';

export const supplyOrdersInvoices = defineEndpoint({
  name: 'supplyOrdersInvoices',
  runtimeOptions: rangeOptions,
  body: jsonBody(supplyOrdersInvoicesRequestSchema),
  handler: (context, request) => ({
    body: streamRecordArray('supply_orders', readSupplyOrders(context, request), context.counters),
  }),
});
