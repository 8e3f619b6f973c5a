import type { OperationName } from '../../../scripts/harness/operations';
import { useTestService, type ServedFunctions } from './service';
import { edgeCaseIds, writeRecords } from './stored';

/** Adds the tests of an operation that returns the name and the country of all records of a collection. */
export function testListOfNamedRecords(operation: OperationName, functions: ServedFunctions, collection: string): void {
  const service = useTestService(functions);
  beforeEach(() => service.reset());

  const call = async () => {
    const { status, json } = await service.call(operation);
    return [status, json];
  };

  test('returns every record by id, with two fields only', async () => {
    await writeRecords(service.db, collection, {
      north: { name: 'North', country_iso: 'deu', city: 'Kiel', capacity: 5 },
      south: { name: ' South ', country_iso: ' ITA\n' },
    });
    const list = { north: { name: 'North', country_iso: 'DEU' }, south: { name: ' South ', country_iso: 'ITA' } };
    expect(await call()).toEqual([200, { [collection]: list, count: 2 }]);
  });

  test('returns an empty list and the count 0 if there are no records', async () => {
    expect(await call()).toEqual([200, { [collection]: {}, count: 0 }]);
  });

  test('returns null for fields that are missing or malformed', async () => {
    await writeRecords(service.db, collection, {
      empty: {},
      blank: { name: '', country_iso: '  ' },
      wrong: { name: { en: 'x' }, country_iso: ['usa'] },
      numbers: { name: 7, country_iso: 5 },
      space: { name: ' ', country_iso: null },
    });
    const none = { name: null, country_iso: null };
    const list = { empty: none, blank: none, wrong: none, numbers: none, space: { name: ' ', country_iso: null } };
    expect(await call()).toEqual([200, { [collection]: list, count: 5 }]);
  });

  test('returns the number of ids as the count, for any ids', async () => {
    const records = Object.fromEntries(edgeCaseIds.map((id) => [id, { name: id, country_iso: 'ITA' }]));
    await writeRecords(service.db, collection, records);
    expect(await call()).toEqual([200, { [collection]: records, count: edgeCaseIds.length }]);
  });

  test('requests only the two fields from Firestore, without a filter or a limit', async () => {
    const calls = service.recordCalls();
    await service.call(operation);
    const select = [['name'], ['country_iso']];
    const query = { collectionId: collection, filter: undefined, limit: undefined, select };
    expect(calls).toMatchObject([{ rpc: 'RunQuery', request: { query } }]);
  });
}
