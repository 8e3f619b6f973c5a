import { getCost, renderCosts } from './costs';

test('each quantity is multiplied by its price', () => {
  expect(getCost({ writes: 200_009 })).toBeCloseTo(0.36, 3);
  expect(getCost({ reads: 50_000, cpuSeconds: 10_000, jobs: 2 })).toBeCloseTo(0.03 + 0.24 + 0.2);
});

test('a creation costs its documents, and the waiting for them', () => {
  // 2,008 writes, 3 reads, a request, and 1.7 s of one CPU with 1 GiB.
  expect(renderCosts()['calls']).toContain('| add price lists | 1,000 | 3 | 2,008 | 1.7 | 3.66 |');
});
