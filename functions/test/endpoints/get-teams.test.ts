import fc from 'fast-check';
import { startTestService, type TestService } from '../support/service';
import {
  edgeCaseIds,
  toExpectedCode,
  withSequentialIds,
  writeRecords,
  arbitraryStoredRecord,
  toExpectedText,
} from '../support/stored';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(() => service.reset());
afterAll(() => service.close());

describe('get teams', () => {
  test('returns all of them by id, with two fields only', async () => {
    await writeRecords(service.db, 'teams', {
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

  test('returns an empty object if there are none', async () => {
    expect((await service.call('getTeams')).json).toEqual({ count: 0, teams: {} });
  });

  test('reads stored values of any type', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryStoredRecord(service.db, ['name', 'country_iso']), { maxLength: 20 }),
        async (records) => {
          service.firestore.clear();
          await writeRecords(service.db, 'teams', withSequentialIds(records));
          const { status, json } = await service.call('getTeams');
          const shown = records.map((record: { name?: unknown; country_iso?: unknown }) => ({
            name: toExpectedText(record.name),
            country_iso: toExpectedCode(record.country_iso),
          }));
          expect([status, json]).toEqual([200, { count: records.length, teams: withSequentialIds(shown) }]);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('returns the number of ids as the count, for any ids', async () => {
    await writeRecords(service.db, 'teams', Object.fromEntries(edgeCaseIds.map((id) => [id, { name: id }])));
    const { count, teams } = (await service.call('getTeams')).json as { count: number; teams: object };
    expect([count, Object.keys(teams).sort()]).toEqual([edgeCaseIds.length, [...edgeCaseIds].sort()]);
  });

  test('asks Firestore for the two fields only, without a filter or a limit', async () => {
    const calls = service.recordCalls();
    await service.call('getTeams');
    const query = { collectionId: 'teams', filter: undefined, limit: undefined, select: [['name'], ['country_iso']] };
    expect(calls).toMatchObject([{ rpc: 'RunQuery', request: { query } }]);
  });
});
