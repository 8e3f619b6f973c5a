import { endpoint } from './lib/http/endpoint';
import { keyedList } from './lib/http/lists';
import { readTeams } from './lib/repositories/organisation';
import { listSettings } from './lib/settings';

/** Get teams (contract, section 4.4). */
export const getTeams = endpoint({
  name: 'getTeams',
  method: 'GET',
  settings: listSettings,
  work: ({ usage }) => ({ body: keyedList('teams', readTeams(usage)) }),
});
