import { defineEndpoint } from './lib/http/endpoint';
import { createJsonParser } from './lib/json/body-parser';
import { streamRecordMap } from './lib/http/list-response';
import { MAX_READ_BODY_BYTES } from './lib/payload-limits';
import { readOrders } from './lib/repositories/organisation';
import { validateWith, ordersByTeamRequestSchema } from './lib/schemas/requests';
import { READ_BODY_TIMEOUT_MS, rangeOptions } from './lib/runtime-options';

export const getOrdersByTeam = defineEndpoint({
  name: 'getOrdersByTeam',
  method: 'POST',
  runtimeOptions: rangeOptions,
  body: {
    maxBytes: MAX_READ_BODY_BYTES,
    timeoutMs: READ_BODY_TIMEOUT_MS,
    createParser: () => createJsonParser(validateWith(ordersByTeamRequestSchema)),
  },
  handler: ({ callContext }, request) => ({ body: streamRecordMap('orders', readOrders(callContext, request)) }),
});
