import { defineEndpoint } from './lib/http/endpoint';
import { toRecordArray } from './lib/http/list-response';
import { READ_BODY_LIMITS } from './lib/payload-limits';
import { readSupplyOrders } from './lib/repositories/organisation';
import { toShape, validate } from './lib/schemas/fields';
import { supplyOrdersInvoicesRequestSchema } from './lib/schemas/read-requests';
import { rangeOptions } from './lib/runtime-options';

export const supplyOrdersInvoices = defineEndpoint({
  name: 'supplyOrdersInvoices',
  runtimeOptions: rangeOptions,
  body: {
    ...READ_BODY_LIMITS,
    shape: toShape(supplyOrdersInvoicesRequestSchema),
    parse: (value) => validate(supplyOrdersInvoicesRequestSchema, value),
  },
  handler: (context, request) => toRecordArray('supply_orders', readSupplyOrders(context, request)),
});
