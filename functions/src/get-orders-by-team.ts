import { endpoint } from './lib/http/endpoint';
import { wholeJson } from './lib/http/json';
import { keyedList } from './lib/http/lists';
import { readOrders } from './lib/repositories/organisation';
import { judgeBy, ordersByTeamRequest } from './lib/schemas/requests';
import { READ_BODY_MS, rangeSettings } from './lib/settings';

/** Get orders by team (contract, section 4.1). */
export const getOrdersByTeam = endpoint({
  name: 'getOrdersByTeam',
  method: 'POST',
  settings: rangeSettings,
  bodyMs: READ_BODY_MS,
  reader: () => wholeJson(judgeBy(ordersByTeamRequest)),
  work: ({ usage }, request) => ({ body: keyedList('orders', readOrders(usage, request)) }),
});
