import { defineEndpoint } from './lib/http/endpoint';
import { toRecordMap } from './lib/http/list-response';
import { readMarkets } from './lib/repositories/organisation';
import { listOptions } from './lib/runtime-options';

export const getMarkets = defineEndpoint({
  name: 'getMarkets',
  runtimeOptions: listOptions,
  handler: (context) => toRecordMap('markets', readMarkets(context)),
});
