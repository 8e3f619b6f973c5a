import fc from 'fast-check';
import { InvalidPayload } from '../../src/lib/http/errors';
import { addPriceListsRequest, judgePriceListSubmission } from '../../src/lib/schemas/add-price-lists';
import { bodyOf } from '../support/submissions';

/** Any number that JSON can hold, and what is no number, each of it often. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom<unknown>(0, -0, Infinity, -Infinity, NaN, Number.MIN_VALUE, Number.MAX_VALUE, -Number.MIN_VALUE),
  fc.constantFrom<unknown>(null, undefined, true, '', '1', [], {}, [1]),
);

const product: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      { price_list_price: value, expected_forward_cost_price: value, note: value },
      { requiredKeys: [], noNullPrototype: true },
    ),
  },
  { weight: 1, arbitrary: value },
);

test('prices are judged as the schema judges them, whichever way is taken', () =>
  fc.assert(
    fc.property(product, (prices) => {
      const body = { info: bodyOf(1).info, products: { a: prices } };
      // The schema first: judging may put what the schema makes of a product in the place of the product.
      const { data, error } = addPriceListsRequest.safeParse(body);
      try {
        const { products } = judgePriceListSubmission(body);
        const judged = products.map(([id, { price_list_price, expected_forward_cost_price }]) => [
          id,
          { price_list_price, expected_forward_cost_price },
        ]);
        expect(judged).toEqual(Object.entries(data?.products ?? {}));
      } catch (refusal) {
        if (!(refusal instanceof InvalidPayload)) throw refusal;
        expect(refusal.errors).toEqual(error?.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
      }
    }),
    { numRuns: 5000 },
  ));
