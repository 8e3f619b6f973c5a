import type { StoredDoc } from '../storage/collections';
import { createValueReader } from './query';
import type { Aggregation } from '../protocol/requests';
import { isNumber, type Value } from '../protocol/values';

/** Computes one aggregation over the documents of a query. */
export interface Aggregator {
  readonly add: (doc: StoredDoc) => void;
  readonly getResult: () => Value;
}

export function createAggregator(aggregation: Aggregation): Aggregator {
  if (aggregation.kind === 'count') return createCount(aggregation.upTo ?? Infinity);
  const read = createValueReader(aggregation.path);
  const numbers: (bigint | number)[] = [];
  return {
    add: (doc) => {
      const value = read(doc);
      if (isNumber(value)) numbers.push(value);
    },
    getResult: () => {
      const sum = addNumbers(numbers);
      if (aggregation.kind === 'sum') return sum;
      return numbers.length === 0 ? null : Number(sum) / numbers.length;
    },
  };
}

function createCount(limit: number): Aggregator {
  let count = 0;
  return { add: () => (count = Math.min(count + 1, limit)), getResult: () => BigInt(count) };
}

/** Adds integers exactly. The sum is a double if it exceeds 64 bits, or if one of the numbers is a double. */
function addNumbers(numbers: readonly (bigint | number)[]): bigint | number {
  if (numbers.some((number) => typeof number === 'number')) return addDoubles(Float64Array.from(numbers, Number));
  let sum = 0n;
  for (const number of numbers) sum += number as bigint;
  return BigInt.asIntN(64, sum) === sum ? sum : Number(sum);
}

/**
 * Adds doubles so that the sum equals Firestore's to the last bit: in ascending order, as in an index, with Kahan's
 * compensation for the rounding error of each addition.
 */
function addDoubles(numbers: Float64Array): number {
  let sum = 0;
  let compensation = 0;
  for (const number of numbers.sort()) {
    const corrected = number - compensation;
    const next = sum + corrected;
    compensation = next - sum - corrected;
    sum = next;
  }
  // With an infinity, the compensation becomes NaN.
  return Number.isNaN(sum) ? numbers.reduce((total, number) => total + number, 0) : sum;
}
