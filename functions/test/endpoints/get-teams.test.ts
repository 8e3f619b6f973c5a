import { testListOfNamedRecords } from '../support/named-records';

describe('get teams', () => testListOfNamedRecords('getTeams', 'teams'));
