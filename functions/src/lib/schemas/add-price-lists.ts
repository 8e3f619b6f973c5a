import { z } from 'zod';
import { ValidationError } from '../errors';
import { StreamingJsonParser, type BodyParser, type MemberHandler } from '../json/streaming-parser';
import { expectedError, toFieldErrors, describeReceived, textField } from './requests';
import type { FieldError } from './responses';

/**
 * The body of add price lists (contract, section 4.6): judged product by product as it arrives, so that 100,000 bad
 * products are as cheap to refuse as good ones are to accept, and a body takes less memory than it has bytes.
 */

declare const productId: unique symbol;
/** A string that has passed {@link validateProductId}: usable as a Firestore document id. */
export type ProductId = string & { readonly [productId]: true };

const MAX_PRODUCT_ID_BYTES = 1500;
/** How many errors an answer lists at most: judging stops there. */
export const MAX_FIELD_ERRORS = 100;

const infoSchema = z
  .object(
    {
      market_id: textField.describe(`The market to create the lists for. ${textField.description}`),
      boq_list_id: textField.describe(
        `The list's identifier in your own system: the idempotency key. ${textField.description}`,
      ),
      currency_iso: z
        .string(expectedError('a currency code of three letters'))
        .regex(/^[A-Za-z]{3}$/, expectedError('a currency code of three letters', 'string'))
        .describe('Three ASCII letters, uppercased by the service.')
        .transform((code) => code.toUpperCase()),
      date: z
        .string(expectedError('a month as MM/YYYY'))
        .regex(/^(0[1-9]|1[0-2])\/\d{4}$/, expectedError('a month as MM/YYYY', 'string'))
        .describe('The month of the lists, MM/YYYY.'),
      name: textField,
    },
    expectedError('an object'),
  )
  .meta({ id: 'PriceListInfo' });

// Adding 0 turns -0 into 0: the two are one price, and Firestore and JSON would tell them apart.
const priceSchema = z
  .number({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'Expected a finite number, received one too large'
        : expectedError('a number that is not negative').error({ input }),
  })
  .nonnegative({ error: 'Expected a number that is not negative, received a negative one' })
  .describe('Finite, not negative.')
  .transform((value) => value + 0);

const productPricesSchema = z
  .object(
    { price_list_price: priceSchema, expected_forward_cost_price: priceSchema },
    expectedError('an object of two prices'),
  )
  .meta({ id: 'ProductPrices' });

export type PriceListInfo = z.output<typeof infoSchema>;
export type ProductPrices = z.output<typeof productPricesSchema>;

/** A valid submission, normalised. */
export interface PriceListSubmission {
  info: PriceListInfo;
  products: ProductColumns;
}

/** Products in code-unit order of their ids, each id once. In columns, which take little memory: at an id's place, its prices. */
export interface ProductColumns extends Readonly<Record<keyof ProductPrices, Float64Array>> {
  readonly ids: readonly ProductId[];
}

/** The reason why a string cannot be a product id (contract, section 4.6, and Firestore's limits), if there is one. */
export function validateProductId(id: string): string | undefined {
  if (id === '') return 'Expected a product identifier that is not empty';
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
 * The body as one schema: what docs/openapi.json says of it. Requests are judged by its parts and by
 * {@link validateProductId}, since zod's record drops a `__proto__` key and collects every error of 100,000 products.
 */
export const addPriceListsRequestSchema = z
  .object({
    info: infoSchema,
    products: z
      .record(
        z
          .string()
          .regex(/^(?!\s)(?![^]*\s$)(?!\.\.?$)(?!__[^]*__$)[^/]+$/)
          .refine((id) => validateProductId(id) === undefined),
        productPricesSchema,
      )
      .refine((products) => Object.keys(products).length > 0)
      .meta({ minProperties: 1 })
      .describe(
        'One entry for each product, under its identifier: no `/`, not `.` or `..`, not of the form `__name__`, no ' +
          `white space at either end, no lone surrogate, 1 to ${MAX_PRODUCT_ID_BYTES} bytes of UTF-8.`,
      ),
  })
  .meta({ id: 'AddPriceListsRequest' });

/** Reads a body to a validated and normalised submission, or to {@link ValidationError} with the first hundred field errors. */
export function createPriceListParser(): BodyParser<PriceListSubmission> {
  const judge = new ProductsValidator();
  const json = new StreamingJsonParser('products', judge);
  return { write: (text) => json.write(text), end: () => toSubmission(json.end(), judge) };
}

function toSubmission(body: unknown, judge: ProductsValidator): PriceListSubmission {
  if (!isObject(body))
    throw new ValidationError([{ path: 'body', message: expectedError('an object').error({ input: body }) }]);
  const infoResult = infoSchema.safeParse(body['info']);
  const errors = infoResult.success ? [] : toFieldErrors(infoResult.error, ['info']);
  errors.push(...judge.getErrors(body['products']));
  if (!infoResult.success || errors.length > 0) {
    throw new ValidationError(errors.slice(0, MAX_FIELD_ERRORS), errors.length < MAX_FIELD_ERRORS);
  }
  return { info: infoResult.data, products: judge.releaseProducts() };
}

/** Products that are kept in one piece. */
const PRODUCTS_PER_BLOCK = 1024;

/** Judges products one by one, and keeps them: in blocks, so that nothing is copied, and left for garbage, as they become more. */
class ProductsValidator implements MemberHandler {
  #blocks: (ProductColumns & { ids: ProductId[] })[] = [];
  #errors: FieldError[] = [];

  onObjectStart(): void {
    this.#blocks = [];
    this.#errors = [];
  }

  onMember(id: string, given: unknown): void {
    if (this.#errors.length >= MAX_FIELD_ERRORS) return;
    const idError = validateProductId(id);
    if (idError !== undefined) this.#errors.push({ path: `products.${truncateId(id)}`, message: idError });
    const prices = isPlainPrices(given) ? given : this.#validatePrices(id, given);
    if (prices !== undefined) this.#append(id as ProductId, prices);
  }

  #validatePrices(id: string, given: unknown): ProductPrices | undefined {
    const prices = productPricesSchema.safeParse(given);
    if (!prices.success) this.#errors.push(...toFieldErrors(prices.error, ['products', truncateId(id)]));
    return prices.data;
  }

  #append(id: ProductId, prices: ProductPrices): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.ids.length === PRODUCTS_PER_BLOCK) {
      block = { ids: [], ...mapPriceColumns(() => new Float64Array(PRODUCTS_PER_BLOCK)) };
      this.#blocks.push(block);
    }
    const i = block.ids.push(id) - 1;
    block.price_list_price[i] = prices.price_list_price;
    block.expected_forward_cost_price[i] = prices.expected_forward_cost_price;
  }

  /** What is wrong with the products, which were judged if they are an object. */
  getErrors(products: unknown): FieldError[] {
    const refuse = (message: string) => [{ path: 'products', message }];
    if (!isObject(products))
      return refuse(`Expected an object of product identifiers to prices, received ${describeReceived(products)}`);
    if (this.#errors.length > 0) return this.#errors;
    return this.#blocks.length === 0 ? refuse('Expected at least one product') : [];
  }

  /**
   * Gives away the products, which have no errors, in code-unit order of their ids; of an id that came twice, the last.
   * Nothing of them is kept: what refers to this lives as long as the request.
   */
  releaseProducts(): ProductColumns {
    const blocks = this.#blocks;
    this.onObjectStart();
    const sent = ([] as ProductId[]).concat(...blocks.map(({ ids }) => ids));
    const id = (place: number): string => sent[place] ?? '';
    const places = new Uint32Array(sent.length).map((_, place) => place);
    places.sort((a, b) => (id(a) < id(b) ? -1 : id(a) > id(b) ? 1 : a - b));

    const ids = sent.slice();
    let count = 0;
    for (const [i, place] of places.entries()) {
      if (i + 1 < places.length && id(place) === id(places[i + 1] ?? place)) continue;
      places[count] = place;
      ids[count] = id(place) as ProductId;
      count += 1;
    }
    ids.length = count;
    const inOrder = (name: keyof ProductPrices) => (_: number, i: number) => {
      const place = places[i] ?? 0;
      return blocks[Math.floor(place / PRODUCTS_PER_BLOCK)]?.[name][place % PRODUCTS_PER_BLOCK] ?? NaN;
    };
    return { ids, ...mapPriceColumns((name) => new Float64Array(count).map(inOrder(name))) };
  }
}

const mapPriceColumns = (make: (name: keyof ProductPrices) => Float64Array): Omit<ProductColumns, 'ids'> => ({
  price_list_price: make('price_list_price'),
  expected_forward_cost_price: make('expected_forward_cost_price'),
});

/**
 * Whether a value is what {@link productPricesSchema} accepts and leaves as it is, but for unknown fields, which nobody reads.
 * So are nearly all, and zod takes ten times as long to say so; it judges whatever this does not accept.
 */
function isPlainPrices(value: unknown): value is ProductPrices {
  if (!isObject(value)) return false;
  const { price_list_price, expected_forward_cost_price } = value;
  return isPlainPrice(price_list_price) && isPlainPrice(expected_forward_cost_price);
}

const isPlainPrice = (value: unknown): boolean =>
  typeof value === 'number' && (value > 0 || Object.is(value, 0)) && value < Infinity;

/** An id as an error's path shows it: whole, unless it is far longer than an id can be. */
const truncateId = (id: string) => (id.length > MAX_PRODUCT_ID_BYTES ? `${id.slice(0, 100)}…` : id);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
