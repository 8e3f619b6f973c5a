import { MAX_DOCUMENT_ID_BYTES } from '../lib/document-id';
import { ValidationError, type FieldError } from '../lib/errors';
import type { BodyParser } from '../lib/json/body-parser';
import { StreamingJsonParser } from '../lib/json/streaming-parser';
import { OUTSIDE_PRODUCTS_LIMIT, PRODUCT_LIMIT } from '../lib/payload-limits';
import {
  infoSchema,
  productPricesSchema,
  validateProductId,
  type PriceListInfo,
  type ProductPrices,
} from '../lib/schemas/add-price-lists';
import { describeReceived, expectedError, toFieldErrors } from '../lib/schemas/fields';

/**
 * Parses a price list product by product while its body arrives, so the products need about as much memory as the body.
 * Validates no product after 100 errors, so rejecting 100,000 invalid products costs no more than accepting valid ones.
 */

export const MAX_FIELD_ERRORS = 100;

export interface PriceListSubmission {
  info: PriceListInfo;
  products: ProductColumns;
}

/** Products in code-unit order of their ids, without duplicates. The prices are in the same order. */
export interface ProductColumns {
  readonly ids: readonly string[];
  readonly expectedForwardCostPrices: Float64Array;
  readonly priceListPrices: Float64Array;
}

/** Creates a parser of price lists. Its {@link ValidationError} has at most 100 field errors. */
export function createPriceListParser(): BodyParser<PriceListSubmission> {
  let products = new ProductsValidator();
  const json = new StreamingJsonParser({
    streamedMember: 'products',
    envelopeLimit: OUTSIDE_PRODUCTS_LIMIT,
    memberLimit: PRODUCT_LIMIT,
    createHandler: () => {
      products = new ProductsValidator();
      return products.onMember;
    },
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
  return { info: infoResult.data, products: products.toColumns() };
}

class ProductsValidator {
  /** The index of each id in the two arrays of prices, which are in the order of arrival. */
  readonly #indexes = new Map<string, number>();
  readonly #expectedForwardCostPrices: number[] = [];
  readonly #priceListPrices: number[] = [];
  readonly #errors: FieldError[] = [];

  readonly onMember = (id: string, value: unknown): void => {
    if (this.#errors.length >= MAX_FIELD_ERRORS) return;
    const idError = validateProductId(id);
    if (idError !== undefined) this.#errors.push({ path: `products.${toShownId(id)}`, message: idError });
    const prices = isPlainPrices(value) ? value : this.#validatePrices(id, value);
    if (prices === undefined) return;
    // Of several products with the same id, the last one counts.
    const index = this.#indexes.get(id) ?? this.#indexes.size;
    this.#indexes.set(id, index);
    this.#expectedForwardCostPrices[index] = prices.expected_forward_cost_price;
    this.#priceListPrices[index] = prices.price_list_price;
  };

  #validatePrices(id: string, value: unknown): ProductPrices | undefined {
    const prices = productPricesSchema.safeParse(value);
    if (!prices.success) this.#errors.push(...toFieldErrors(prices.error, ['products', toShownId(id)]));
    return prices.data;
  }

  /** @param products the parsed member `products`; `{}` if it was an object, because its members were streamed */
  getErrors(products: unknown): FieldError[] {
    const reject = (message: string) => [{ path: 'products', message }];
    if (!isObject(products))
      return reject(`Expected an object of product identifiers to prices, received ${describeReceived(products)}`);
    if (this.#errors.length > 0) return this.#errors;
    return this.#indexes.size === 0 ? reject('Expected at least one product') : [];
  }

  toColumns(): ProductColumns {
    const indexes = this.#indexes;
    // Without a comparison function, strings are sorted in code-unit order, and faster.
    const ids = [...indexes.keys()].sort();
    const order = new Uint32Array(ids.length).map((_, i) => indexes.get(ids[i] ?? '') ?? 0);
    const select = (prices: number[]) => new Float64Array(ids.length).map((_, i) => prices[order[i] ?? 0] ?? NaN);
    const expectedForwardCostPrices = select(this.#expectedForwardCostPrices);
    const priceListPrices = select(this.#priceListPrices);
    return { ids, expectedForwardCostPrices, priceListPrices };
  }
}

/**
 * A fast check that suffices for nearly all products. True only if {@link productPricesSchema} accepts
 * the value and leaves its prices unchanged. zod takes more than ten times as long.
 */
const isPlainPrices = (value: unknown): value is ProductPrices =>
  isObject(value) && isPlainPrice(value['price_list_price']) && isPlainPrice(value['expected_forward_cost_price']);

const isPlainPrice = (value: unknown): boolean =>
  typeof value === 'number' && (value > 0 || Object.is(value, 0)) && value < Infinity;

/** Returns an id for the path of an error: well-formed, and truncated if it has more characters than a valid id can. */
const toShownId = (id: string) => (id.length > MAX_DOCUMENT_ID_BYTES ? `${id.slice(0, 100)}…` : id).toWellFormed();

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
