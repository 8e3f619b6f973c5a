import { getTeams } from '../../src/get-teams';
import { testListOfNamedRecords } from '../support/named-records';

describe('get teams', () => testListOfNamedRecords('getTeams', { getTeams }, 'teams'));
