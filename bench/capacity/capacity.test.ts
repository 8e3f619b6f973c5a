import { MAX_PRODUCTS, PRODUCTION, simulateCreations } from './capacity';

/** No chance and no limits, so that durations can be calculated. */
const IDEAL = {
  ...PRODUCTION,
  deviation: 0,
  tailShare: 0,
  collectionWritesPerSecond: Infinity,
  databaseWritesPerSecond: Infinity,
};

test('a list takes its sequential commits and four small calls', () => {
  const { durations } = simulateCreations({ products: 1_250, lists: 1, seed: 1 }, IDEAL);
  expect(durations).toHaveLength(1);
  expect(durations[0]).toBeCloseTo(2.5 * 770 + 3 * 30);
});

test('lists that are created at once do not slow each other down without limits', () => {
  const { durations } = simulateCreations({ products: 1_250, lists: 50, seed: 1 }, IDEAL);
  expect(durations).toHaveLength(50);
  for (const duration of durations) expect(duration).toBeCloseTo(2.5 * 770 + 3 * 30);
});

test('a collection that takes fewer writes than are sent slows a list down to its limit', () => {
  const profile = { ...IDEAL, collectionWritesPerSecond: 500, rampFactor: 1, databaseWritesPerSecond: 1e9 };
  const { durations, retries } = simulateCreations({ products: 50_000, lists: 1, seed: 1 }, profile);
  expect(durations[0]).toBeGreaterThan(99_000);
  expect(retries).toBeGreaterThan(10);
});

test('a limit that grows after five minutes lets a long list catch up', () => {
  const steady = { ...IDEAL, collectionWritesPerSecond: 500, rampFactor: 1, databaseWritesPerSecond: 1e9 };
  const load = { products: 300_000, lists: 1, seed: 1 };
  const [fixed] = simulateCreations(load, steady).durations;
  const [ramped] = simulateCreations(load, { ...steady, rampFactor: 1.5 }).durations;
  expect(ramped).toBeLessThan(0.95 * (fixed ?? NaN));
});

test('creations beyond what the database takes slow down to what it takes, and none fails before its time is up', () => {
  const profile = { ...IDEAL, databaseWritesPerSecond: 1_000 };
  const { durations, retries } = simulateCreations({ products: 5_000, lists: 20, seed: 1 }, profile);
  expect(retries).toBeGreaterThan(20);
  expect(durations).toHaveLength(20);
  expect(durations.at(-1)).toBeGreaterThan((20 * 2 * 5_000 * 1_000) / 1_000);
});

test('a list that takes longer than the timeout fails', () => {
  const outcome = simulateCreations({ products: 1_000_000, lists: 1, seed: 1 }, IDEAL);
  expect(outcome).toMatchObject({ durations: [], timedOut: 1 });
});

test('the largest list completes under the published delays and limits, whatever the seed', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    expect(simulateCreations({ products: MAX_PRODUCTS, lists: 1, seed }).durations).toHaveLength(1);
  }
});
