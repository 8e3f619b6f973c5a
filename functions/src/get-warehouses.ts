import { endpoint } from './lib/http/endpoint';
import { keyedList } from './lib/http/lists';
import { readWarehouses } from './lib/repositories/organisation';
import { listSettings } from './lib/settings';

/** Get warehouses (contract, section 4.2). */
export const getWarehouses = endpoint({
  name: 'getWarehouses',
  method: 'GET',
  settings: listSettings,
  browsers: true,
  work: ({ usage }) => ({ body: keyedList('warehouses', readWarehouses(usage)) }),
});
