import { MemoryBudget } from '../../../../src/lib/http/memory-budget';

test('a share can grow only while the sum of all shares stays within the budget', () => {
  const budget = new MemoryBudget(100);
  const [a, b] = [budget.createShare(), budget.createShare()];
  expect([a.tryResize(60), b.tryResize(41), b.tryResize(40)]).toEqual([true, false, true]);
  // A share that cannot grow keeps its size, and a smaller size always fits.
  expect([a.tryResize(61), a.tryResize(50), b.tryResize(50)]).toEqual([false, true, true]);
});

test('the memory of a released share is free for other shares, and a second release changes nothing', () => {
  const budget = new MemoryBudget(100);
  const [a, b] = [budget.createShare(), budget.createShare()];
  a.tryResize(100);
  a.release();
  a.release();
  expect([b.tryResize(101), b.tryResize(100)]).toEqual([false, true]);
});
