import { defineEndpoint } from './lib/http/endpoint';
import { streamRecordMap } from './lib/http/list-response';
import { defineReadBody } from './lib/http/read-body';
import { readOrders } from './lib/repositories/organisation';
import { ordersByTeamRequestSchema } from './lib/schemas/requests';
import { rangeOptions } from './lib/runtime-options';

export const getOrdersByTeam = defineEndpoint({
  name: 'getOrdersByTeam',
  runtimeOptions: rangeOptions,
  body: defineReadBody(ordersByTeamRequestSchema),
  handler: (context, request) => ({ body: streamRecordMap('orders', readOrders(context, request), context.counters) }),
});
