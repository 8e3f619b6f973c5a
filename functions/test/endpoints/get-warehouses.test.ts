import { testListOfNamedRecords } from '../support/named-records';

describe('get warehouses', () => testListOfNamedRecords('getWarehouses', 'warehouses'));
