import { defineEndpoint } from './lib/http/endpoint';
import { toRecordMap } from './lib/http/list-response';
import { READ_BODY_LIMITS } from './lib/payload-limits';
import { readOrders } from './lib/repositories/organisation';
import { toShape, validate } from './lib/schemas/fields';
import { ordersByTeamRequestSchema } from './lib/schemas/read-requests';
import { rangeOptions } from './lib/runtime-options';

export const getOrdersByTeam = defineEndpoint({
  name: 'getOrdersByTeam',
  runtimeOptions: rangeOptions,
  body: {
    ...READ_BODY_LIMITS,
    shape: toShape(ordersByTeamRequestSchema),
    parse: (value) => validate(ordersByTeamRequestSchema, value),
  },
  handler: (context, request) => toRecordMap('orders', readOrders(context, request)),
});
