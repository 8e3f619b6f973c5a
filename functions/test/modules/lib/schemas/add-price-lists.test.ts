import fc from 'fast-check';
import openapi from '../../../../../docs/openapi.json';
import { parseJson } from '../../../../src/lib/json';
import { infoSchema, parsePriceLists, validateProductId } from '../../../../src/lib/schemas/add-price-lists';
import { anyCharacter } from '../../../support/arbitrary-text';
import { operations } from '../../../../../scripts/harness/operations';
import {
  findInvalidPaths,
  invalidTexts,
  loneSurrogates,
  textsAtLimit,
  textsOverLimit,
  withLabels,
} from '../../../support/validation';

/** Tests `info` and product ids. product-validation.test.ts tests prices, submission.test.ts the whole body. */

const { body } = operations.addPriceLists;

const { products } = openapi.components.schemas.AddPriceListsRequest.properties;
const PATTERN = new RegExp(products.propertyNames.pattern);

const parseBody = (value: unknown) => parsePriceLists(parseJson(JSON.stringify(value)));

const pathsOf = (info: object) => findInvalidPaths(() => parseBody({ ...body, info: { ...body.info, ...info } }));

/** Returns the error paths of one product. Its id is written as JSON, so that it can be `__proto__`. */
const pathsOfProduct = (id: string) => {
  const products = `{${JSON.stringify(id)}:{"price_list_price":1,"expected_forward_cost_price":1}}`;
  const text = `{"info":${JSON.stringify(body.info)},"products":${products}}`;
  return findInvalidPaths(() => parsePriceLists(parseJson(text)));
};

describe('info', () => {
  test.each([undefined, null, 'text', 1, [], ['a']])('%j is rejected at its own path', (info) => {
    expect(findInvalidPaths(() => parseBody({ ...body, info }))).toEqual(['info']);
  });

  /** All fields except these two accept free text. */
  const { currency_iso: _, date: __, ...texts } = infoSchema.shape;

  describe.each(Object.entries(texts))('%s', (field, schema) => {
    const isOptional = schema.safeParse(undefined).success;
    const invalid = invalidTexts.filter((value) => !(isOptional && value === undefined));
    test.each(withLabels([...invalid, ...loneSurrogates, ...textsOverLimit]))('rejects %s', (_, value) => {
      expect(pathsOf({ [field]: value })).toEqual([`info.${field}`]);
    });
    test.each(withLabels([...textsAtLimit, ' ', '\u0000', '𝄞']))('accepts %s', (_, value) => {
      expect(pathsOf({ [field]: value })).toEqual([]);
    });
  });

  test.each([...invalidTexts, 'us', 'usdd', 'us1', ' usd', 'usd ', 'usd\n', 'ÜSD', 'ｕｓｄ', 'ﬁn', '\ud800'])(
    'the currency %j is rejected',
    (currency_iso) => {
      expect(pathsOf({ currency_iso })).toEqual(['info.currency_iso']);
    },
  );

  const notMonths = [
    '00/2026',
    '13/2026',
    '6/2026',
    '006/2026',
    '06/26',
    '06/20260',
    '06-2026',
    '01/06/2026',
    ' 06/2026',
    '06/2026\n',
    '０６/2026',
  ];
  test.each([...invalidTexts, ...notMonths])('the month %j is rejected', (date) => {
    expect(pathsOf({ date })).toEqual(['info.date']);
  });
});

describe('a product identifier', () => {
  const invalid = ['', '.', '..', 'a/b', '____', '__proto__', '__a\nb__', ' a', 'a\ufeff', ...loneSurrogates];
  test.each(withLabels(invalid))('%s is rejected', (_, id) => {
    expect(pathsOfProduct(id)).toEqual([`products.${id.toWellFormed()}`]);
  });

  const unit = fc.oneof(
    fc.constantFrom('_', '_', '.', '/', ' ', '\n', 'a', '\u00a0', '\ufeff', '\u200b', '\ud800', '\udc00', '𝄞'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  );
  const anyId = fc.oneof(
    fc.string({ unit, maxLength: 8 }),
    fc
      .tuple(fc.constantFrom('a', 'é', '𝄞'), fc.integer({ min: 370, max: 1510 }))
      .map(([each, count]) => each.repeat(count)),
    fc.string({ unit, maxLength: 4 }).map((middle) => `__${middle}__`),
  );

  test('is accepted exactly if its UTF-8 is valid and within the limit, and docs/openapi.json allows it', () =>
    fc.assert(
      fc.property(anyId, (id) => {
        const isAllowed = PATTERN.test(id) && id.isWellFormed() && Buffer.byteLength(id) <= 1_500;
        expect(validateProductId(id) === undefined).toBe(isAllowed);
      }),
      { numRuns: 5000 },
    ));
});
