import { defineEndpoint } from './lib/http/endpoint';
import { toRecordMap } from './lib/http/list-response';
import { readTeams } from './lib/repositories/organisation';
import { listOptions } from './lib/runtime-options';

export const getTeams = defineEndpoint({
  name: 'getTeams',
  runtimeOptions: listOptions,
  handler: (context) => toRecordMap('teams', readTeams(context)),
});
