import { getWarehouses } from '../../src/get-warehouses';
import { testListOfNamedRecords } from '../support/named-records';

describe('get warehouses', () => testListOfNamedRecords('getWarehouses', { getWarehouses }, 'warehouses'));
