import { endpoint } from './lib/http/endpoint';
import { keyedList } from './lib/http/lists';
import { readMarkets } from './lib/repositories/organisation';
import { listSettings } from './lib/settings';

/** Get markets (contract, section 4.3). */
export const getMarkets = endpoint({
  name: 'getMarkets',
  method: 'GET',
  settings: listSettings,
  work: ({ usage }) => ({ body: keyedList('markets', readMarkets(usage)) }),
});
