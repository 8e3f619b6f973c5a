import fc from 'fast-check';
import { startService, type Service } from './support/service';
import { awkwardIds, codeOf, numbered, store, storedRecord, textOf } from './support/stored';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
beforeEach(() => service.reset());
afterAll(() => service.close());

describe('get teams', () => {
  test('answers all of them under their ids, with two fields only', async () => {
    await store(service.db, 'teams', {
      north: { name: 'North', country_iso: 'deu', lead: 'A' },
      south: { name: ' ', country_iso: ' ita ' },
      broken: { name: { en: 'x' }, country_iso: 5 },
    });
    const { status, json } = await service.call('getTeams');
    expect([status, json]).toEqual([
      200,
      {
        count: 3,
        teams: {
          north: { name: 'North', country_iso: 'DEU' },
          south: { name: ' ', country_iso: 'ITA' },
          broken: { name: null, country_iso: null },
        },
      },
    ]);
  });

  test('answers an empty object where there are none', async () => {
    expect((await service.call('getTeams')).json).toEqual({ count: 0, teams: {} });
  });

  test('reads stored values of any type', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(storedRecord(service.db, ['name', 'country_iso']), { maxLength: 20 }),
        async (records) => {
          service.firestore.clear();
          await store(service.db, 'teams', numbered(records));
          const { status, json } = await service.call('getTeams');
          const shown = records.map((record: { name?: unknown; country_iso?: unknown }) => ({
            name: textOf(record.name),
            country_iso: codeOf(record.country_iso),
          }));
          expect([status, json]).toEqual([200, { count: records.length, teams: numbered(shown) }]);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('counts the keys, whatever the ids are', async () => {
    await store(service.db, 'teams', Object.fromEntries(awkwardIds.map((id) => [id, { name: id }])));
    const { count, teams } = (await service.call('getTeams')).json as { count: number; teams: object };
    expect([count, Object.keys(teams).sort()]).toEqual([awkwardIds.length, [...awkwardIds].sort()]);
  });

  test('asks Firestore for the two fields only, without a filter or a limit', async () => {
    const calls = service.observe();
    await service.call('getTeams');
    const query = { collectionId: 'teams', filter: undefined, limit: undefined, select: [['name'], ['country_iso']] };
    expect(calls).toMatchObject([{ rpc: 'RunQuery', request: { query } }]);
  });
});
