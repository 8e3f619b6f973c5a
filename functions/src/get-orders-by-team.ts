import { defineEndpoint } from './lib/http/endpoint';
import { streamRecordMap } from './lib/http/list-response';
import { readOrders } from './lib/repositories/organisation';
import { defineReadBody, ordersByTeamRequestSchema } from './lib/schemas/requests';
import { rangeOptions } from './lib/runtime-options';

export const getOrdersByTeam = defineEndpoint({
  name: 'getOrdersByTeam',
  runtimeOptions: rangeOptions,
  body: defineReadBody(ordersByTeamRequestSchema),
  handler: (context, request) => ({ body: streamRecordMap('orders', readOrders(context, request)) }),
});
