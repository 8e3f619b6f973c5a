import fc from 'fast-check';
import { getWriteOrder } from '../../../../src/lib/firestore/write-order';

test('the order contains each place once', () => {
  fc.assert(
    fc.property(fc.nat(2_000), fc.integer({ min: 1, max: 600 }), (count, batchSize) => {
      const places = Array.from({ length: count }, (_, i) => i);
      expect([...getWriteOrder(count, batchSize)].sort((a, b) => a - b)).toEqual(places);
    }),
  );
});

test.each([100_000, 100_001, 100_499])('each batch of %i entries is spread over the collection', (count) => {
  const order = getWriteOrder(count, 500);
  for (let start = 0; start + 500 <= count; start += 500) {
    const tenths = new Set(order.subarray(start, start + 500).map((place) => Math.floor((10 * place) / count)));
    expect(tenths.size).toBe(10);
  }
});
