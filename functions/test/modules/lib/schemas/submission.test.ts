import { ValidationError, type FieldError } from '../../../../src/lib/errors';
import { parseJson } from '../../../../src/lib/json';
import {
  MAX_FIELD_ERRORS,
  parsePriceLists,
  productPricesSchema,
  type PriceListSubmission,
} from '../../../../src/lib/schemas/add-price-lists';
import { createPriceListBody } from '../../../support/submissions';

/** add-price-lists.test.ts and product-validation.test.ts test the rules of the fields. */

const { info } = createPriceListBody(0);
const INFO = JSON.stringify(info);

const parse = (json: string): PriceListSubmission => parsePriceLists(parseJson(json));
const parseProducts = (products: string) => parse(`{"info":${INFO},"products":${products}}`);

function getError(run: () => unknown): ValidationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ValidationError) return error;
  }
  throw new Error('no validation error was thrown');
}

const getErrors = (json: string): FieldError[] => getError(() => parse(json)).errors;
const getProductErrors = (products: string): FieldError[] => getError(() => parseProducts(products)).errors;

const product = (price: number, cost = 0) => `{"price_list_price":${price},"expected_forward_cost_price":${cost}}`;

describe('a submission', () => {
  test('has its info and its products in the code-unit order of their ids, with the last product of each id', () => {
    const members = ['"b":1', '"a":2', '"10":3', '"9":4', '"\u{1d11e}":5', '"\uffff":6', '"a":7', '"B":8', '"a":9'];
    const products = `{${members.map((member) => member.replace(/\d+$/, (price) => product(Number(price), Number(price) / 2))).join()}}`;
    const submission = parse(`{"products":${products},"info":${INFO}}`);
    expect(submission.info).toEqual({ ...info, currency_iso: 'USD' });
    expect(submission.products.map((each) => Object.values(each))).toEqual([
      ['10', 3, 1.5],
      ['9', 4, 2],
      ['B', 8, 4],
      ['a', 9, 4.5],
      ['b', 1, 0.5],
      ['\u{1d11e}', 5, 2.5],
      ['\uffff', 6, 3],
    ]);
  });

  test('has each identifier as the text has it', () => {
    const ids = ['constructor', 'toString', 'a"b', '"', '\\', 'a\nb', '\u0001', 'é'];
    const { products } = parseProducts(`{${ids.map((id) => `${JSON.stringify(id)}:${product(1)}`).join()}}`);
    expect(products.map(({ id }) => id)).toEqual(ids.sort());
    const escaped = parseProducts(`{"a\\"":${product(1)},"\\u0061\\u0022":${product(2)}}`);
    expect(escaped.products).toEqual([{ id: 'a"', price_list_price: 2, expected_forward_cost_price: 0 }]);
  });

  test('uses the last of several `products` members', () => {
    const { products } = parse(
      `{"products":{"a":${product(1)},"bad/id":1},"info":${INFO},"products":{"b":${product(2)}}}`,
    );
    expect(products).toMatchObject([{ id: 'b' }]);
  });

  test('stores -0 as 0, and prices of any size', () => {
    const prices = `{"price_list_price":-0,"expected_forward_cost_price":1.7976931348623157e308}`;
    const { products } = parseProducts(`{"a":${prices},"b":${product(5e-324, 0)}}`);
    expect(products).toEqual([
      { id: 'a', price_list_price: 0, expected_forward_cost_price: Number.MAX_VALUE },
      { id: 'b', price_list_price: 5e-324, expected_forward_cost_price: 0 },
    ]);
  });

  test('ignores unknown fields', () => {
    const products = `{"a":{"note":1,${product(1).slice(1)}}`;
    const submission = parse(`{"info":{"note":1,${INFO.slice(1)},"products":${products},"note":1}`);
    expect(submission.info).toEqual({ ...info, currency_iso: 'USD' });
    expect(submission.products).toEqual([{ id: 'a', price_list_price: 1, expected_forward_cost_price: 0 }]);
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
    const errors = getErrors(`{"products":{"a":{}},"info":{"name":""}}`);
    expect(errors.map(({ path }) => path)).toEqual([
      ...['market_id', 'boq_list_id', 'currency_iso', 'date', 'name'].map((field) => `info.${field}`),
      'products.a.price_list_price',
      'products.a.expected_forward_cost_price',
    ]);
    expect(getErrors('{}').map(({ path }) => path)).toEqual(['info', 'products']);
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
    expect(getProductErrors(`{"a":${json}}`).map(({ path }) => path)).toEqual(['products.a']);
  });

  test('has an error for the id and for each invalid price of a product, and shortens an id that is too long', () => {
    const long = 'x'.repeat(1_501);
    const shown = `${'x'.repeat(100)}…`;
    expect(getProductErrors(`{"${long}":{"price_list_price":1}}`).map(({ path }) => path)).toEqual([
      `products.${shown}`,
      `products.${shown}.expected_forward_cost_price`,
    ]);
    expect(getProductErrors(`{" ${'x'.repeat(1_499)}":${product(1)}}`)[0]?.path).toBe(`products. ${'x'.repeat(1_499)}`);
    const pair = `${'x'.repeat(99)}𝄞${'x'.repeat(1_500)}`;
    expect(getProductErrors(`{"${pair}":${product(1)}}`)[0]?.path).toBe(`products.${'x'.repeat(99)}\ufffd…`);
  });

  test('has at most 100 errors, and says whether there can be more', () => {
    const createProducts = (count: number) =>
      `{${Array.from({ length: count }, (_, i) => `"${i}":{"price_list_price":1}`).join()}}`;
    const { errors, isComplete } = getError(() => parseProducts(createProducts(99)));
    expect([errors.length, isComplete]).toEqual([99, true]);
    for (const count of [100, 101, 1_000]) {
      const error = getError(() => parseProducts(createProducts(count)));
      expect([error.errors.length, error.isComplete]).toEqual([MAX_FIELD_ERRORS, false]);
    }
    // The last product has two errors, and the response has room for one.
    const odd = `{"odd":{"price_list_price":1},${Array.from({ length: 50 }, (_, i) => `"x${i}":{}`).join()}}`;
    expect(getError(() => parseProducts(odd)).errors).toHaveLength(MAX_FIELD_ERRORS);
    const withInfo = getError(() => parse(`{"products":${createProducts(98)}}`));
    expect([withInfo.errors.length, withInfo.errors[0]?.path, withInfo.isComplete]).toEqual([99, 'info', true]);
  });

  test('has a path of well-formed Unicode for each identifier', () => {
    expect(getProductErrors(`{"":${product(1)},"a\\ud800":${product(1)}}`)).toEqual([
      { path: 'products.', message: 'Expected a non-empty product identifier' },
      { path: 'products.a\ufffd', message: 'Expected well-formed Unicode, received a lone surrogate' },
    ]);
  });

  test('costs no more after its hundredth error', () => {
    const parse = jest.spyOn(productPricesSchema, 'safeParse');
    const products = `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":{"price_list_price":1}`).join()}}`;
    expect(getProductErrors(products)).toHaveLength(MAX_FIELD_ERRORS);
    expect(parse).toHaveBeenCalledTimes(MAX_FIELD_ERRORS);
    parse.mockRestore();
  });
});
