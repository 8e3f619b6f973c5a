import { getCost } from './costs';

test('each quantity is multiplied by its price', () => {
  expect(getCost({ writes: 200_009 })).toBeCloseTo(0.36, 3);
  expect(getCost({ reads: 50_000, cpuSeconds: 10_000, jobs: 2 })).toBeCloseTo(0.03 + 0.24 + 0.2);
});
