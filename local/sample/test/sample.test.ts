import { readFileSync } from 'node:fs';
import { EXAMPLE_PRICE_LIST, SAMPLE_SEED } from '..';
import { SAMPLE_END, SAMPLE_START, createSampleRecords, type SampleRecord } from '../records';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { parseText } from '../../../functions/src/lib/json/body-parser';
import { createPriceListParser } from '../../../functions/src/price-lists/submission-parser';
import { orderStatuses } from '../../../functions/src/lib/schemas/requests';

const records = createSampleRecords(SAMPLE_SEED);
const of = (collection: SampleRecord['collection']) => records.filter((record) => record.collection === collection);

test('the same seed makes the same records, another seed others', () => {
  expect(createSampleRecords(SAMPLE_SEED)).toEqual(records);
  expect(createSampleRecords(SAMPLE_SEED + 1)).not.toEqual(records);
});

test('local/sample/records.ts has records of every collection that the service reads, each under an id of its own', () => {
  const names = new Set(records.map(({ collection }) => collection));
  const { priceListRequests, expectedForwardCosts, priceLists, priceListIdempotency, ...read } = collections;
  const written = [priceListRequests, expectedForwardCosts, priceLists, priceListIdempotency];
  expect(names).toEqual(new Set<string>(Object.values(read)));
  expect(written.filter((collection) => names.has(collection as SampleRecord['collection']))).toEqual([]);
  expect(new Set(records.map(({ collection, id }) => `${collection}/${id}`)).size).toBe(records.length);
});

test('there are as many as a small company has, and few enough for one commit', () => {
  const count = (collection: SampleRecord['collection']) => of(collection).length;
  expect(count('teams')).toBe(8);
  expect(count('markets')).toBe(16);
  expect(count('warehouses')).toBe(21);
  expect(count('orders')).toBe(384);
  expect(count('supply_orders')).toBe(59);
  // If there are more, local/sample/records.ts makes fewer orders.
  expect(records.length).toBeLessThanOrEqual(500);
});

const isMalformed = ({ data }: SampleRecord) => data['team_id'] === 'team-legacy-7';

test('all malformed orders and supply orders belong to one team, which has no others', () => {
  const ids = [...of('orders'), ...of('supply_orders')].filter(isMalformed).map(({ id }) => id);
  expect(ids).toHaveLength(7);
  expect(ids.filter((id) => !/^(ord|sup)-legacy-/.test(id))).toEqual([]);
});

test('every team with orders has some of every status, and orders lie in each month of two years', () => {
  const orders = of('orders')
    .filter((record) => !isMalformed(record))
    .map(({ data }) => data);
  const seen = new Set(orders.map(({ team_id, status }) => `${String(team_id)} ${String(status)}`));
  const teams = new Set(orders.map(({ team_id }) => String(team_id)));
  expect(teams.size).toBe(5);
  expect(seen).toEqual(new Set([...teams].flatMap((team) => orderStatuses.map((status) => `${team} ${status}`))));

  const times = orders.map(({ created_at }) => Number(created_at));
  expect(times.every((time) => Number.isSafeInteger(time) && time >= SAMPLE_START && time < SAMPLE_END)).toBe(true);
  expect(new Set(times.map((time) => new Date(time).toISOString().slice(0, 7))).size).toBe(24);
});

test('supply orders have none to three invoices, of either status', () => {
  const sound = of('supply_orders').filter((record) => !isMalformed(record));
  const lengths = new Set(sound.map(({ data }) => (data['invoices'] as unknown[]).length));
  expect(lengths).toEqual(new Set([0, 1, 2, 3]));
  expect(new Set(sound.map(({ data }) => data['status']))).toEqual(new Set([0, 1]));
});

test('every order and supply order is whole, and belongs to a team and a market that there is', () => {
  const ids = (collection: SampleRecord['collection']) => new Set<unknown>(of(collection).map(({ id }) => id));
  const teams = ids('teams');
  const markets = ids('markets');
  const customer_data = { customer_id: expect.any(String) as string, customer_name: expect.any(String) as string };
  for (const { data } of [...of('orders'), ...of('supply_orders')].filter((record) => !isMalformed(record))) {
    expect(teams.has(data['team_id'])).toBe(true);
    if ('invoices' in data) continue;
    expect(markets.has(data['market_id'])).toBe(true);
    expect(data).toMatchObject({ customer_data });
  }
});

test('the codes are real: countries and currencies that this runtime knows, in any case', () => {
  const currencies = new Set(Intl.supportedValuesOf('currency'));
  const codes = records.flatMap(({ data }) => [
    ['country', data['country_iso']],
    ['currency', data['currency_iso']],
  ]);
  const usable = codes.filter((pair): pair is ['country' | 'currency', string] => {
    return typeof pair[1] === 'string' && pair[1].trim() !== '';
  });
  expect(usable.length).toBeGreaterThan(40);
  for (const [kind, code] of usable) {
    const canonical = code.trim().toUpperCase();
    expect(kind === 'country' ? COUNTRIES.includes(canonical) : currencies.has(canonical)).toBe(true);
  }
});

/** ISO 3166-1 alpha-3, as far as the sample trades. */
const COUNTRIES = 'BEN CIV CMR EGY GHA KEN MAR MOZ MUS NGA RWA SEN TZA UGA ZAF ZMB'.split(' ');

test('the price list to post is accepted, for a market that the sample has, and sells above the expected cost', () => {
  const { info, products } = parseText(createPriceListParser(), readFileSync(EXAMPLE_PRICE_LIST, 'utf8'));
  expect(of('markets').find(({ id }) => id === info.market_id)?.data['currency_iso']).toBe(info.currency_iso);
  products.priceListPrices.forEach((price, i) =>
    expect(price).toBeGreaterThan(products.expectedForwardCostPrices[i] ?? Infinity),
  );
});
