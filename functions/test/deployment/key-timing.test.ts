import { identifyApiKey } from '../../src/lib/http/api-key';

/**
 * The time to reject a wrong API key reveals nothing about it. Measured where a difference would be largest: long keys, which differ
 * from the right one in their first character or in their last, by turns in one run, by medians, which another process's burst of
 * work does not move. That the statistic sees what it looks for is shown on a comparison that stops early.
 */

const KEY_LENGTH = 8_000;
const BATCHES = 400;
const CALLS = 20;

const right = 'k'.repeat(KEY_LENGTH);
const wrongAtOnce = `x${right.slice(1)}`;
const wrongAtLast = `${right.slice(0, -1)}x`;

type CheckApiKey = (presented: string, keys: readonly string[]) => unknown;

/** How much longer the second key takes than the first, as a ratio of medians. */
function ratio(check: CheckApiKey, [first, second]: readonly [string, string], keys: readonly string[]): number {
  const times: [number[], number[]] = [[], []];
  for (let batch = 0; batch < BATCHES; batch += 1) {
    // Which of the two goes first alternates: the one after it finds warmer caches.
    for (const i of batch % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const key = i === 0 ? first : second;
      const started_at = performance.now();
      for (let call = 0; call < CALLS; call += 1) check(key, keys);
      times[i].push(performance.now() - started_at);
    }
  }
  return median(times[1]) / median(times[0]);
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? NaN;

const stoppingEarly: CheckApiKey = (presented, keys) =>
  keys.some((key) => {
    for (let i = 0; i < key.length; i += 1) if (key[i] !== presented[i]) return false;
    return key.length === presented.length;
  });

test('the statistic sees a comparison that stops at the first wrong character', () => {
  expect(ratio(stoppingEarly, [wrongAtOnce, wrongAtLast], [right])).toBeGreaterThan(2);
});

test('how much of a key is right makes no difference', () => {
  const found = ratio(identifyApiKey, [wrongAtOnce, wrongAtLast], [right]);
  expect(found).toBeGreaterThan(0.8);
  expect(found).toBeLessThan(1.25);
});

test('whether a key is right, and which of the configured ones it is, makes no difference', () => {
  const keys = [right, 'y'.repeat(KEY_LENGTH), 'z'.repeat(KEY_LENGTH)];
  for (const pair of [
    [right, wrongAtOnce],
    [right, 'z'.repeat(KEY_LENGTH)],
  ] as const) {
    const found = ratio(identifyApiKey, pair, keys);
    expect(found).toBeGreaterThan(0.8);
    expect(found).toBeLessThan(1.25);
  }
});
