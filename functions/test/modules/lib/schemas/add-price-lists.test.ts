import { infoSchema, MAX_FIELD_ERRORS, productPricesSchema } from '../../../../src/lib/schemas/add-price-lists';
import {
  createPriceListBody,
  parseSubmissionText as parse,
  toPricesById,
} from '../../../../../test/harness/submissions';
import {
  catchValidationError,
  findInvalidPaths,
  invalidTexts,
  validTexts,
  withLabels,
} from '../../../../../test/harness/validation';

const { info } = createPriceListBody(0);
const INFO = JSON.stringify(info);
const VALID = '{"price_list_price":1,"expected_forward_cost_price":1}';

const parseInfo = (changed: object) =>
  parse(`{"info":${JSON.stringify({ ...info, ...changed })},"products":{"a":${VALID}}}`);
const parseProducts = (products: string) => parse(`{"info":${INFO},"products":${products}}`);

const getErrors = (json: string) => catchValidationError(() => parse(json))?.errors;
const getInfoErrors = (changed: object) => catchValidationError(() => parseInfo(changed))?.errors;
const getProductErrors = (products: string) => catchValidationError(() => parseProducts(products))?.errors;
const getProductPaths = (products: string) => findInvalidPaths(() => parseProducts(products));

const product = (price: number, cost = 0) => `{"price_list_price":${price},"expected_forward_cost_price":${cost}}`;

describe('a submission', () => {
  test('has its info, and the last product of each id, in the code-unit order of the ids', () => {
    const members = [
      `"b":${product(1)}`,
      `"a":${product(2)}`,
      `"10":${product(3)}`,
      `"9":${product(4)}`,
      `"\u{1d11e}":${product(5, 2.5)}`,
      `"\uffff":${product(6)}`,
      `"a":${product(7)}`,
    ];
    const submission = parse(`{"products":{${members.join()}},"info":${INFO}}`);
    expect(submission.info).toEqual({ ...info, currency_iso: 'USD' });
    expect(
      toPricesById(submission).map(([id, prices]) => [id, prices.price_list_price, prices.expected_forward_cost_price]),
    ).toEqual([
      ['10', 3, 0],
      ['9', 4, 0],
      ['a', 7, 0],
      ['b', 1, 0],
      ['\u{1d11e}', 5, 2.5],
      ['\uffff', 6, 0],
    ]);
  });

  test('has each identifier decoded, so that two spellings of one identifier are one product', () => {
    const ids = ['constructor', 'a"b', '"', '\\', 'a\nb', '\u0001', 'é'];
    const { products } = parseProducts(`{${ids.map((id) => `${JSON.stringify(id)}:${VALID}`).join()}}`);
    expect(products.ids).toEqual(ids.sort());
    const escaped = parseProducts(`{"a\\"":${product(1)},"\\u0061\\u0022":${product(2)}}`);
    expect(toPricesById(escaped)).toEqual([['a"', { price_list_price: 2, expected_forward_cost_price: 0 }]]);
  });

  test('uses the last of several `products` members', () => {
    const { products } = parse(`{"products":{"a":${VALID},"bad/id":1},"info":${INFO},"products":{"b":${VALID}}}`);
    expect(products.ids).toEqual(['b']);
  });

  test('has -0 as 0, prices of any size, and no unknown field', () => {
    const prices = '{"unknown":1,"price_list_price":-0,"expected_forward_cost_price":1.7976931348623157e308}';
    const submission = parse(
      `{"info":{"unknown":1,${INFO.slice(1)},"products":{"a":${prices},"b":${product(5e-324, 0)}},"unknown":1}`,
    );
    expect(submission.info).toEqual({ ...info, currency_iso: 'USD' });
    expect(toPricesById(submission)).toEqual([
      ['a', { price_list_price: 0, expected_forward_cost_price: Number.MAX_VALUE }],
      ['b', { price_list_price: 5e-324, expected_forward_cost_price: 0 }],
    ]);
  });
});

describe('info', () => {
  /** All fields except `currency_iso` and `date` accept free text. */
  const { currency_iso: _, date: __, ...texts } = infoSchema.shape;

  describe.each(Object.entries(texts))('%s', (field, schema) => {
    const isOptional = schema.safeParse(undefined).success;
    const invalid = invalidTexts.filter((value) => value !== undefined || !isOptional);
    test.each(withLabels(invalid))('rejects %s', (_, value) => {
      expect(findInvalidPaths(() => parseInfo({ [field]: value }))).toEqual([`info.${field}`]);
    });
    test.each(withLabels(validTexts))('accepts %s', (_, value) => {
      expect(parseInfo({ [field]: value }).info).toMatchObject({ [field]: value });
    });
  });

  test.each(['us', 'usdd', 'us1', ' usd', 'usd\n', 'ÜSD'])(
    'the currency %j is rejected, and the message does not repeat it',
    (currency_iso) => {
      const message = 'Expected a currency code of three letters, received a different string';
      expect(getInfoErrors({ currency_iso })).toEqual([{ path: 'info.currency_iso', message }]);
    },
  );

  const notMonths = ['00/2026', '13/2026', '6/2026', '06/20260', '01/06/2026', ' 06/2026', '06/2026\n', '０６/2026'];
  test.each(notMonths)('the month %j is rejected, and the message does not repeat it', (date) => {
    const message = 'Expected a month as MM/YYYY, received a different string';
    expect(getInfoErrors({ date })).toEqual([{ path: 'info.date', message }]);
  });
});

describe('a product identifier', () => {
  test.each([
    ['', 'Expected a non-empty product identifier'],
    ['.', 'A product identifier must not be "." or ".."'],
    ['..', 'A product identifier must not be "." or ".."'],
    ['a/b', 'A product identifier must not contain "/"'],
    ['____', 'A product identifier must not match the reserved pattern __name__'],
    ['__proto__', 'A product identifier must not match the reserved pattern __name__'],
    ['__a\nb__', 'A product identifier must not match the reserved pattern __name__'],
    [' a', 'A product identifier must not start or end with whitespace'],
    ['a\ufeff', 'A product identifier must not start or end with whitespace'],
  ])('%j is rejected', (id, message) => {
    expect(getProductErrors(`{${JSON.stringify(id)}:${VALID}}`)).toEqual([{ path: `products.${id}`, message }]);
  });

  test.each(withLabels(['_', '__', '___', '__a', '...', 'a b', '\u200b', '𝄞'.repeat(375)]))(
    '%s is accepted',
    (_, id) => {
      expect(getProductErrors(`{${JSON.stringify(id)}:${VALID}}`)).toBeUndefined();
    },
  );

  test('is well-formed in the path of an error, and shortened if it has more than 1,500 characters', () => {
    const shown = `${'x'.repeat(99)}\ufffd…`;
    expect(
      getProductErrors(`{"a\\ud800":${VALID},"${'x'.repeat(99)}𝄞${'x'.repeat(1_500)}":{"price_list_price":1}}`),
    ).toEqual([
      { path: 'products.a\ufffd', message: 'Expected well-formed Unicode, received a lone surrogate' },
      { path: `products.${shown}`, message: 'A product identifier must have at most 1500 bytes of UTF-8' },
      {
        path: `products.${shown}.expected_forward_cost_price`,
        message: 'Expected a non-negative number, received no value',
      },
    ]);
    const tooLong = `${'é'.repeat(750)}x`;
    expect(getProductPaths(`{"${tooLong}":${VALID}}`)).toEqual([`products.${tooLong}`]);
  });
});

describe('an invalid body', () => {
  test.each([
    ['[]', 'an array'],
    ['null', 'null'],
    ['1', 'a number'],
  ])('%s has one error', (json, received) => {
    expect(getErrors(json)).toEqual([{ path: 'body', message: `Expected an object, received ${received}` }]);
  });

  test('has the errors of info before those of the products', () => {
    expect(findInvalidPaths(() => parse('{"products":{"a":{}},"info":{"name":""}}'))).toEqual([
      ...['market_id', 'boq_list_id', 'currency_iso', 'date', 'name'].map((field) => `info.${field}`),
      'products.a.price_list_price',
      'products.a.expected_forward_cost_price',
    ]);
    expect(findInvalidPaths(() => parse('{"info":[]}'))).toEqual(['info', 'products']);
  });

  test.each([
    ['{}', 'Expected at least one product'],
    ['[]', 'Expected an object of product identifiers to prices, received an array'],
  ])('with the products %s has one error', (products, message) => {
    expect(getProductErrors(products)).toEqual([{ path: 'products', message }]);
  });

  test.each([
    ['-1', 'Expected a non-negative number, received a negative one'],
    ['1e400', 'Expected a finite number, received one too large'],
    ['"1"', 'Expected a non-negative number, received a string'],
  ])('with the price %s has one error', (price, message) => {
    const cost = `{"a":{"price_list_price":0,"expected_forward_cost_price":${price}}}`;
    expect(getProductErrors(cost)).toEqual([{ path: 'products.a.expected_forward_cost_price', message }]);
    const both = `{"a":{"price_list_price":${price},"expected_forward_cost_price":1}}`;
    expect(getProductErrors(both)).toEqual([{ path: 'products.a.price_list_price', message }]);
  });

  test.each(['null', '[]', '1'])('with a product that is %s has one error', (json) => {
    expect(getProductPaths(`{"a":${json}}`)).toEqual(['products.a']);
  });

  test('has at most 100 errors, and says whether there can be more', () => {
    const wrong = (count: number) =>
      `{"two errors":{},${Array.from({ length: count - 2 }, (_, i) => `"${i}":{"price_list_price":1}`).join()}}`;
    const { errors, isComplete } = catchValidationError(() => parseProducts(wrong(99))) ?? {};
    expect([errors?.length, isComplete]).toEqual([99, true]);
    for (const count of [100, 101]) {
      const error = catchValidationError(() => parseProducts(wrong(count)));
      expect([error?.errors.length, error?.isComplete]).toEqual([MAX_FIELD_ERRORS, false]);
    }
    // The error of `info` leaves room for 99 errors of products.
    expect(getErrors(`{"products":${wrong(100)}}`)).toHaveLength(MAX_FIELD_ERRORS);
  });

  test('is not checked further after its hundredth error', () => {
    const validate = jest.spyOn(productPricesSchema, 'safeParse');
    const products = `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":{"price_list_price":1}`).join()}}`;
    expect(getProductErrors(products)).toHaveLength(MAX_FIELD_ERRORS);
    expect(validate).toHaveBeenCalledTimes(MAX_FIELD_ERRORS);
    validate.mockRestore();
  });
});
