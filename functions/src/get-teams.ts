import { endpoint } from './lib/http/endpoint';
import { keyedList } from './lib/http/lists';
import { readTeams } from './lib/repositories/organisation';
import { readSettings } from './lib/settings';

/** Get teams (contract, section 4.4). */
export const getTeams = endpoint({
  name: 'getTeams',
  method: 'GET',
  settings: readSettings,
  work: ({ db }) => ({ body: keyedList('teams', readTeams(db)) }),
});
