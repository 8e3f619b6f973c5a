import { SAMPLE_SEED } from '..';
import { SAMPLE_END, SAMPLE_START, createSampleRecords, type SampleRecord } from '../records';
import { orderStatuses } from '../../../functions/src/lib/schemas/requests';

const records = createSampleRecords(SAMPLE_SEED);
type Collection = SampleRecord['collection'];
const of = (collection: Collection) => records.filter((record) => record.collection === collection);

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
  const expected = [...teams].flatMap((team) => orderStatuses.map((status) => `${team} ${status}`));
  expect(teams.size).toBe(5);
  expect(seen).toEqual(new Set(expected));

  const times = orders.map(({ created_at }) => Number(created_at));
  expect(times.every((time) => time >= SAMPLE_START && time < SAMPLE_END)).toBe(true);
  expect(new Set(times.map((time) => new Date(time).toISOString().slice(0, 7))).size).toBe(24);
});

test('every order and supply order is whole, and belongs to a team and a market that there is', () => {
  const ids = (collection: Collection) => new Set<unknown>(of(collection).map(({ id }) => id));
  const teams = ids('teams');
  const markets = ids('markets');
  const text = expect.any(String) as string;
  const customer_data = { customer_id: text, customer_name: text };
  for (const { data } of [...of('orders'), ...of('supply_orders')].filter((record) => !isMalformed(record))) {
    expect(teams.has(data['team_id'])).toBe(true);
    if ('invoices' in data) continue;
    expect(markets.has(data['market_id'])).toBe(true);
    expect(data).toMatchObject({ customer_data });
  }
});
