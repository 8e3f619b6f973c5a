import { MAX_PRODUCTS, PRODUCTION, simulateCreations } from './capacity';

/** No chance and no limits, so that durations can be calculated. */
const IDEAL = {
  ...PRODUCTION,
  deviation: 0,
  tailShare: 0,
  collectionWritesPerSecond: Infinity,
  databaseWritesPerSecond: Infinity,
};

test('a list takes its sequential commits, and the three small calls that are not beside them', () => {
  const { durations } = simulateCreations({ products: 1_250, lists: 1, seed: 1 }, IDEAL);
  expect(durations).toHaveLength(1);
  expect(durations[0]).toBeCloseTo(2.5 * 770 + 3 * 30);
});

test('a collection that takes fewer writes than are sent slows a list down to its limit', () => {
  const profile = { ...IDEAL, collectionWritesPerSecond: 500, rampFactor: 1 };
  const { durations } = simulateCreations({ products: 50_000, lists: 1, seed: 1 }, profile);
  expect(durations[0]).toBeGreaterThan(99_000);
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
