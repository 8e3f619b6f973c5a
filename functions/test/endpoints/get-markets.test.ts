import fc from 'fast-check';
import { getMarkets } from '../../src/get-markets';
import { useTestService } from '../support/service';
import {
  edgeCaseIds,
  toExpectedCode,
  withSequentialIds,
  writeRecords,
  arbitraryStoredRecord,
  toExpectedText,
  getField,
} from '../support/stored';

const service = useTestService({ getMarkets });
beforeEach(() => service.reset());

describe('get markets', () => {
  test('returns all of them by id, with the English name', async () => {
    await writeRecords(service.db, 'markets', {
      egypt: { name: { en: 'Egypt', ar: 'مصر' }, country_iso: 'egy', currency_iso: ' egp ', tax: 0.14 },
      unnamed: { name: { ar: 'مصر' }, country_iso: 'egy', currency_iso: 'egp' },
      flat: { name: 'Egypt', country_iso: '', currency_iso: ' ' },
      bare: {},
    });
    const { status, json } = await service.call('getMarkets');
    expect([status, json]).toEqual([
      200,
      {
        count: 4,
        markets: {
          egypt: { name: 'Egypt', country_iso: 'EGY', currency_iso: 'EGP' },
          unnamed: { name: null, country_iso: 'EGY', currency_iso: 'EGP' },
          flat: { name: null, country_iso: null, currency_iso: null },
          bare: { name: null, country_iso: null, currency_iso: null },
        },
      },
    ]);
  });

  test('returns an empty object if there are none', async () => {
    expect((await service.call('getMarkets')).json).toEqual({ count: 0, markets: {} });
  });

  test('reads stored values of any type', async () => {
    type Stored = Partial<Record<'name' | 'country_iso' | 'currency_iso', unknown>>;
    const record = fc.oneof(
      arbitraryStoredRecord(service.db, ['name', 'country_iso', 'currency_iso']),
      arbitraryStoredRecord(service.db, ['en', 'ar']).chain((name) =>
        arbitraryStoredRecord(service.db, ['currency_iso'], { name }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 20 }), async (records) => {
        service.firestore.clear();
        await writeRecords(service.db, 'markets', withSequentialIds(records));
        const { status, json } = await service.call('getMarkets');
        const shown = records.map(({ name, country_iso, currency_iso }: Stored) => ({
          name: toExpectedText(getField(name, 'en')),
          country_iso: toExpectedCode(country_iso),
          currency_iso: toExpectedCode(currency_iso),
        }));
        expect([status, json]).toEqual([200, { count: records.length, markets: withSequentialIds(shown) }]);
      }),
      { numRuns: 40 },
    );
  });

  test('returns the number of ids as the count, for any ids', async () => {
    await writeRecords(service.db, 'markets', Object.fromEntries(edgeCaseIds.map((id) => [id, {}])));
    const { count, markets } = (await service.call('getMarkets')).json as { count: number; markets: object };
    expect([count, Object.keys(markets).sort()]).toEqual([edgeCaseIds.length, [...edgeCaseIds].sort()]);
  });

  test('asks Firestore for the English name and the two codes only', async () => {
    const calls = service.recordCalls();
    await service.call('getMarkets');
    const select = [['name', 'en'], ['country_iso'], ['currency_iso']];
    const query = { collectionId: 'markets', filter: undefined, limit: undefined, select };
    expect(calls).toMatchObject([{ rpc: 'RunQuery', request: { query } }]);
  });
});
