import fc from 'fast-check';
import { ValidationError } from '../../../../src/lib/errors';
import { parseJson } from '../../../../src/lib/json';
import { addPriceListsRequestSchema, parsePriceLists } from '../../../../src/lib/schemas/add-price-lists';
import { createPriceListBody } from '../../../support/submissions';

/** Numbers of every kind, and values that are not numbers. */
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
      { price_list_price: value, expected_forward_cost_price: value, 'x-no-field-has-this-name': value },
      { requiredKeys: [], noNullPrototype: true },
    ),
  },
  { weight: 1, arbitrary: value.filter((each) => each !== undefined) },
);

/** Numbers that JSON can hold, but that `JSON.stringify` does not write. */
const written = new Map<unknown, string>([
  [Infinity, '1e400'],
  [-Infinity, '-1e400'],
]);

const textOf = (body: unknown) =>
  JSON.stringify(body, (_, each: unknown) => (Object.is(each, -0) ? '-0' : (written.get(each) ?? each))).replaceAll(
    /"(-0|-?1e400)"/g,
    '$1',
  );

test('prices are validated as by the schema, with and without the fast path', () =>
  fc.assert(
    fc.property(product, (prices) => {
      const text = textOf({ info: createPriceListBody(1).info, products: { a: prices } });
      const { data, error } = addPriceListsRequestSchema.safeParse(JSON.parse(text));
      try {
        const { products } = parsePriceLists(parseJson(text));
        expect(products).toEqual([{ id: 'a', ...data?.products['a'] }]);
      } catch (thrown) {
        if (!(thrown instanceof ValidationError)) throw thrown;
        expect(thrown.errors).toEqual(error?.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
      }
    }),
    { numRuns: 1_000 },
  ));
