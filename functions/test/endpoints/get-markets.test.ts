import { getMarkets } from '../../src/get-markets';
import { useTestService } from '../support/service';
import { writeRecords } from '../support/stored';

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
});
