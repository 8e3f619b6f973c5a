import fc from 'fast-check';
import { getWriteOrder } from '../../../../src/lib/firestore/write-order';
import { anyCharacter } from '../../../support/arbitrary-text';

test('the order contains each index once, for any ids', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter })), (ids) => {
      expect([...getWriteOrder(ids)].sort((a, b) => a - b)).toEqual(ids.map((_, i) => i));
    }),
  );
});

test('batches of neighbouring ids are spread over the collection', () => {
  const ids = Array.from({ length: 100_000 }, (_, i) => `product-${String(i).padStart(6, '0')}`);
  const order = getWriteOrder(ids);
  for (let start = 0; start < ids.length; start += 500) {
    const tenths = new Set(order.subarray(start, start + 500).map((index) => Math.floor(index / 10_000)));
    expect(tenths.size).toBe(10);
  }
});

test('short and long lists have the same order', () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => `product-${i}`);
  const order = Array.from(getWriteOrder(ids)).filter((index) => index < 1_000);
  expect(Array.from(getWriteOrder(ids.slice(0, 1_000)))).toEqual(order);
});

test('the order depends on the ids alone', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const sorted = Array.from(getWriteOrder(ids), (i) => ids[i]);
  const reversed = ids.toReversed();
  expect(Array.from(getWriteOrder(reversed), (i) => reversed[i])).toEqual(sorted);
});
