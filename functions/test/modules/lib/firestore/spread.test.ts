import fc from 'fast-check';
import { getHashOrder } from '../../../../src/lib/firestore/spread';
import { anyCharacter } from '../../../support/arbitrary-text';

test('the order contains each index once, for any ids', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter })), (ids) => {
      expect([...getHashOrder(ids)].sort((a, b) => a - b)).toEqual(ids.map((_, i) => i));
    }),
  );
});

test('batches of neighbouring ids are spread over the collection', () => {
  const ids = Array.from({ length: 100_000 }, (_, i) => `product-${String(i).padStart(6, '0')}`);
  const order = getHashOrder(ids);
  for (let start = 0; start < ids.length; start += 500) {
    const tenths = new Set(order.subarray(start, start + 500).map((index) => Math.floor(index / 10_000)));
    expect(tenths.size).toBe(10);
  }
});

test('short and long lists are ordered alike', () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => `product-${i}`);
  const order = Array.from(getHashOrder(ids)).filter((index) => index < 1_000);
  expect(Array.from(getHashOrder(ids.slice(0, 1_000)))).toEqual(order);
});

test('the order depends on the ids alone', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const sorted = Array.from(getHashOrder(ids), (i) => ids[i]);
  const reversed = ids.toReversed();
  expect(Array.from(getHashOrder(reversed), (i) => reversed[i])).toEqual(sorted);
});
