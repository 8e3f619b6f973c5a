import { defineEndpoint } from './lib/http/endpoint';
import { streamRecordMap } from './lib/http/list-response';
import { jsonBody } from './lib/http/json-body';
import { readOrders } from './lib/repositories/organisation';
import { ordersByTeamRequestSchema } from './lib/schemas/requests';
import { rangeOptions } from './lib/runtime-options';

export const getOrdersByTeam = defineEndpoint({
  name: 'getOrdersByTeam',
  runtimeOptions: rangeOptions,
  body: jsonBody(ordersByTeamRequestSchema),
  handler: (context, request) => ({ body: streamRecordMap('orders', readOrders(context, request), context.counters) }),
});
