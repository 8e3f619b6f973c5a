import { getMarkets } from '../../src/get-markets';
import { getTeams } from '../../src/get-teams';
import { getWarehouses } from '../../src/get-warehouses';
import { useTestService } from '../../../test/harness/service';
import { writeRecords } from '../../../test/harness/stored';

/** Tests the operations that return all records of a collection. */

const service = useTestService({ getMarkets, getTeams, getWarehouses });

const NAMED = {
  stored: {
    north: { name: 'North', country_iso: 'deu', city: 'Kiel', capacity: 5 },
    south: { name: ' South ', country_iso: ' ITA\n' },
  },
  shown: { north: { name: 'North', country_iso: 'DEU' }, south: { name: ' South ', country_iso: 'ITA' } },
  select: [['name'], ['country_iso']],
};

const MARKETS = {
  stored: {
    egypt: { name: { en: 'Egypt', ar: 'مصر' }, country_iso: 'egy', currency_iso: ' egp ', tax: 0.14 },
    unnamed: { name: { ar: 'مصر' }, country_iso: 'egy', currency_iso: 'egp' },
    flat: { name: 'Egypt', country_iso: '', currency_iso: ' ' },
  },
  shown: {
    egypt: { name: 'Egypt', country_iso: 'EGY', currency_iso: 'EGP' },
    unnamed: { name: null, country_iso: 'EGY', currency_iso: 'EGP' },
    flat: { name: null, country_iso: null, currency_iso: null },
  },
  select: [['name', 'en'], ['country_iso'], ['currency_iso']],
};

describe.each([
  ['getMarkets', 'markets', MARKETS],
  ['getTeams', 'teams', NAMED],
  ['getWarehouses', 'warehouses', NAMED],
] as const)('%s', (operation, collection, { stored, shown, select }) => {
  test('returns every record under its id, with only the documented fields', async () => {
    await writeRecords(service.db, collection, stored);
    const calls = service.recordCalls();
    const { status, json } = await service.call(operation);
    expect([status, json]).toEqual([200, { [collection]: shown, count: Object.keys(shown).length }]);
    const query = { collectionId: collection, filter: undefined, limit: undefined, select };
    expect(calls).toMatchObject([{ rpc: 'RunQuery', request: { query } }]);
  });

  test('returns an empty object and the count 0, in this order, if there are no records', async () => {
    expect((await service.call(operation)).text).toBe(`{"${collection}":{},"count":0}`);
  });
});

test('fields that are missing or malformed are null', async () => {
  await writeRecords(service.db, 'teams', {
    empty: {},
    blank: { name: '', country_iso: '  ' },
    wrong: { name: { en: 'x' }, country_iso: ['usa'] },
    numbers: { name: 7, country_iso: 5 },
    space: { name: ' ', country_iso: null },
  });
  const none = { name: null, country_iso: null };
  const teams = { empty: none, blank: none, wrong: none, numbers: none, space: { name: ' ', country_iso: null } };
  expect((await service.call('getTeams')).json).toEqual({ teams, count: 5 });
});

// In a message of Firestore, the length of the last id takes two bytes.
const IDS = [
  'constructor',
  '__proto',
  '10',
  '9',
  '-1',
  'مخزن',
  '𝄞',
  'a "quoted" \\ id',
  'line\nbreak',
  ' ',
  'x'.repeat(130),
];

test('the count is the number of ids, for any ids', async () => {
  const teams = Object.fromEntries(IDS.map((id) => [id, { name: id, country_iso: 'ITA' }]));
  await writeRecords(service.db, 'teams', teams);
  expect((await service.call('getTeams')).json).toEqual({ teams, count: IDS.length });
});
