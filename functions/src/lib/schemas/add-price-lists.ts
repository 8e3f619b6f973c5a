import * as z from 'zod';
import { ValidationError, type FieldError } from '../errors';
import type { BodyParser } from '../json/body-parser';
import { StreamingJsonParser, type MemberHandler } from '../json/streaming-parser';
import { OUTSIDE_PRODUCTS_LIMIT, PRODUCT_LIMIT } from '../payload-limits';
import { expectedError, toFieldErrors, describeReceived, textField } from './requests';

/**
 * The request body of add price lists. It is validated product by product while it streams in, so rejecting 100,000
 * invalid products costs no more than accepting valid ones, and the products take less memory than the body has bytes.
 */

const MAX_PRODUCT_ID_BYTES = 1500;
/** Maximum number of field errors in a response; validation stops there. */
export const MAX_FIELD_ERRORS = 100;

const infoSchema = z
  .object(
    {
      market_id: textField.describe(`Market to create the lists for. ${textField.description}`),
      boq_list_id: textField.describe(
        `Identifier of the price list in the client's system: the idempotency key. ${textField.description}`,
      ),
      currency_iso: z
        .string(expectedError('a currency code of three letters'))
        .regex(/^[A-Za-z]{3}$/, expectedError('a currency code of three letters', 'string'))
        .describe('Three ASCII letters, uppercased by the service.')
        .transform((code) => code.toUpperCase()),
      date: z
        .string(expectedError('a month as MM/YYYY'))
        .regex(/^(0[1-9]|1[0-2])\/\d{4}$/, expectedError('a month as MM/YYYY', 'string'))
        .describe('Month of the lists, MM/YYYY.'),
      name: textField,
    },
    expectedError('an object'),
  )
  .meta({ id: 'PriceListInfo' });

// Adding 0 turns -0 into 0: they are the same price, but Firestore and JSON distinguish them.
const priceSchema = z
  .number({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'Expected a finite number, received one too large'
        : expectedError('a non-negative number').error({ input }),
  })
  .nonnegative({ error: 'Expected a non-negative number, received a negative one' })
  .describe('Finite, non-negative.')
  .transform((value) => value + 0);

const productPricesSchema = z
  .object(
    { price_list_price: priceSchema, expected_forward_cost_price: priceSchema },
    expectedError('an object of two prices'),
  )
  .meta({ id: 'ProductPrices' });

export type PriceListInfo = z.output<typeof infoSchema>;
export type ProductPrices = z.output<typeof productPricesSchema>;

/** A validated request body; equal submissions have the same canonical JSON. */
export interface PriceListSubmission {
  info: PriceListInfo;
  products: ProductColumns;
}

/** Products in code-unit order of their ids, each id once. */
export interface ProductColumns {
  readonly ids: readonly string[];
  /** Two for each id: its expected forward cost price, then its price list price. */
  readonly prices: Float64Array;
}

/** Rules: docs/api.md#product-identifiers. @returns the message of the broken rule, or undefined for a valid id */
export function validateProductId(id: string): string | undefined {
  if (id === '') return 'Expected a non-empty product identifier';
  if (!id.isWellFormed()) return 'Expected well-formed Unicode, received a lone surrogate';
  if (id !== id.trim()) return 'A product identifier must not start or end with whitespace';
  if (id.includes('/')) return 'A product identifier must not contain "/"';
  if (id === '.' || id === '..') return 'A product identifier must not be "." or ".."';
  if (id.length >= 4 && id.startsWith('__') && id.endsWith('__'))
    return 'A product identifier must not match the reserved pattern __name__';
  if (Buffer.byteLength(id) > MAX_PRODUCT_ID_BYTES)
    return `A product identifier has at most ${MAX_PRODUCT_ID_BYTES} bytes of UTF-8`;
  return undefined;
}

/**
 * The body as one schema, for docs/openapi.json. Requests are validated with its parts and {@link validateProductId}:
 * zod's record drops a `__proto__` key and collects every error of 100,000 products.
 */
export const addPriceListsRequestSchema = z
  .object({
    info: infoSchema,
    products: z
      .record(
        z
          .string()
          .regex(/^(?!\s)(?![\s\S]*\s$)(?!\.\.?$)(?!__[\s\S]*__$)[^/]+$/)
          .refine((id) => validateProductId(id) === undefined),
        productPricesSchema,
      )
      .refine((products) => Object.keys(products).length > 0)
      .meta({ minProperties: 1 })
      .describe(
        'One member for each product, named by its identifier: no `/`, not `.` or `..`, not of the form `__name__`, no ' +
          `whitespace at either end, no lone surrogate, 1 to ${MAX_PRODUCT_ID_BYTES} bytes of UTF-8.`,
      ),
  })
  .meta({ id: 'AddPriceListsRequest' });

/** @returns a parser that returns the submission or throws a {@link ValidationError} with at most 100 field errors */
export function createPriceListParser(): BodyParser<PriceListSubmission> {
  let products = new ProductsValidator();
  const json = new StreamingJsonParser({
    streamedMember: 'products',
    envelopeLimit: OUTSIDE_PRODUCTS_LIMIT,
    memberLimit: PRODUCT_LIMIT,
    createHandler: () => (products = new ProductsValidator()),
  });
  return { write: (text) => json.write(text), end: () => toSubmission(json.end(), products) };
}

function toSubmission(body: unknown, products: ProductsValidator): PriceListSubmission {
  if (!isObject(body))
    throw new ValidationError([{ path: 'body', message: expectedError('an object').error({ input: body }) }]);
  const infoResult = infoSchema.safeParse(body['info']);
  const errors = infoResult.success ? [] : toFieldErrors(infoResult.error, ['info']);
  errors.push(...products.getErrors(body['products']));
  if (!infoResult.success || errors.length > 0) {
    throw new ValidationError(errors.slice(0, MAX_FIELD_ERRORS), errors.length < MAX_FIELD_ERRORS);
  }
  return { info: infoResult.data, products: products.releaseProducts() };
}

/** Validates products one by one as they arrive. */
class ProductsValidator implements MemberHandler {
  #ids: string[] = [];
  /** As in {@link ProductColumns}; doubled when full. */
  #prices = new Float64Array(2);
  readonly #errors: FieldError[] = [];

  onMember(id: string, value: unknown): void {
    if (this.#errors.length >= MAX_FIELD_ERRORS) return;
    const idError = validateProductId(id);
    if (idError !== undefined) this.#errors.push({ path: `products.${truncateId(id)}`, message: idError });
    const prices = isPlainPrices(value) ? value : this.#validatePrices(id, value);
    if (prices !== undefined) this.#append(id, prices);
  }

  #append(id: string, { price_list_price, expected_forward_cost_price }: ProductPrices): void {
    const { buffer, byteLength, length } = this.#prices;
    const index = 2 * (this.#ids.push(id) - 1);
    if (index === length) this.#prices = new Float64Array(buffer.transfer(2 * byteLength));
    this.#prices[index] = expected_forward_cost_price;
    this.#prices[index + 1] = price_list_price;
  }

  #validatePrices(id: string, value: unknown): ProductPrices | undefined {
    const prices = productPricesSchema.safeParse(value);
    if (!prices.success) this.#errors.push(...toFieldErrors(prices.error, ['products', truncateId(id)]));
    return prices.data;
  }

  /** @param products the parsed member `products`; empty if it was an object, since its members were streamed */
  getErrors(products: unknown): FieldError[] {
    const reject = (message: string) => [{ path: 'products', message }];
    if (!isObject(products))
      return reject(`Expected an object of product identifiers to prices, received ${describeReceived(products)}`);
    if (this.#errors.length > 0) return this.#errors;
    return this.#ids.length === 0 ? reject('Expected at least one product') : [];
  }

  /**
   * Returns the products in code-unit order of their ids, the last one of each id, and drops its own copy: this object
   * lives as long as the request.
   */
  releaseProducts(): ProductColumns {
    const [ids, prices] = [this.#ids, this.#prices];
    this.#ids = [];
    this.#prices = new Float64Array();
    const id = (place: number) => ids[place] ?? '';
    const places = new Uint32Array(ids.length)
      .map((_, place) => place)
      .sort((a, b) => (id(a) < id(b) ? -1 : id(a) > id(b) ? 1 : a - b))
      .filter((place, i, sorted) => id(place) !== id(sorted[i + 1] ?? ids.length));
    const getPrice = (_: number, i: number) => prices[2 * (places[i >> 1] ?? 0) + (i % 2)] ?? NaN;
    return { ids: Array.from(places, id), prices: new Float64Array(2 * places.length).map(getPrice) };
  }
}

/**
 * Fast path for nearly all products: true only if {@link productPricesSchema} accepts the value and leaves its prices
 * unchanged. zod takes ten times as long.
 */
const isPlainPrices = (value: unknown): value is ProductPrices =>
  isObject(value) && isPlainPrice(value['price_list_price']) && isPlainPrice(value['expected_forward_cost_price']);

const isPlainPrice = (value: unknown): boolean =>
  typeof value === 'number' && (value > 0 || Object.is(value, 0)) && value < Infinity;

/** The id as shown in an error path, truncated if it is longer than an id can be. */
const truncateId = (id: string) => (id.length > MAX_PRODUCT_ID_BYTES ? `${id.slice(0, 100)}…` : id);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
