import { SAMPLE_SEED } from '..';
import { SAMPLE_END, SAMPLE_START, createSampleRecords } from '../records';
import { orderStatuses } from '../../../functions/src/lib/schemas/requests';

test('every team with orders has some of every status, and orders lie in each month of two years', () => {
  const orders = createSampleRecords(SAMPLE_SEED)
    .filter(({ collection, id }) => collection === 'orders' && !id.startsWith('ord-legacy-'))
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
