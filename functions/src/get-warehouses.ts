import { defineEndpoint } from './lib/http/endpoint';
import { toRecordMap } from './lib/http/list-response';
import { readWarehouses } from './lib/repositories/organisation';
import { listOptions } from './lib/runtime-options';

export const getWarehouses = defineEndpoint({
  name: 'getWarehouses',
  runtimeOptions: listOptions,
  cors: true,
  handler: (context) => toRecordMap('warehouses', readWarehouses(context)),
});
