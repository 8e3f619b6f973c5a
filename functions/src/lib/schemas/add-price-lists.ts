import { z } from 'zod';
import { InvalidPayload } from '../http/errors';
import { LargeJson, type BodyReader, type Members } from '../http/json';
import { expected, fieldErrors, received, text } from './requests';
import type { FieldError } from './responses';

/**
 * The body of add price lists (contract, section 4.6): judged product by product as it arrives, so that 100,000 bad
 * products are as cheap to refuse as good ones are to accept, and a body takes less memory than it has bytes.
 */

declare const productId: unique symbol;
/** A string that has passed {@link productIdError}: usable as a Firestore document id. */
export type ProductId = string & { readonly [productId]: true };

const MAX_PRODUCT_ID_BYTES = 1500;
/** How many errors an answer lists at most: judging stops there. */
export const MAX_ERRORS = 100;

const info = z
  .object(
    {
      market_id: text.describe(`The market to create the lists for. ${text.description}`),
      boq_list_id: text.describe(`The list's identifier in your own system: the idempotency key. ${text.description}`),
      currency_iso: z
        .string(expected('a currency code of three letters'))
        .regex(/^[A-Za-z]{3}$/, expected('a currency code of three letters', 'string'))
        .describe('Three ASCII letters, uppercased by the service.')
        .transform((code) => code.toUpperCase()),
      date: z
        .string(expected('a month as MM/YYYY'))
        .regex(/^(0[1-9]|1[0-2])\/\d{4}$/, expected('a month as MM/YYYY', 'string'))
        .describe('The month of the lists, MM/YYYY.'),
      name: text,
    },
    expected('an object'),
  )
  .meta({ id: 'PriceListInfo' });

// Adding 0 turns -0 into 0: the two are one price, and Firestore and JSON would tell them apart.
const price = z
  .number({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'Expected a finite number, received one too large'
        : expected('a number that is not negative').error({ input }),
  })
  .nonnegative({ error: 'Expected a number that is not negative, received a negative one' })
  .describe('Finite, not negative.')
  .transform((value) => value + 0);

const productPrices = z
  .object({ price_list_price: price, expected_forward_cost_price: price }, expected('an object of two prices'))
  .meta({ id: 'ProductPrices' });

export type PriceListInfo = z.output<typeof info>;
export type ProductPrices = z.output<typeof productPrices>;

/** A valid submission, normalised. */
export interface PriceListSubmission {
  info: PriceListInfo;
  products: Products;
}

/** Products in code-unit order of their ids, each id once. In columns, which take little memory: at an id's place, its prices. */
export interface Products extends Readonly<Record<keyof ProductPrices, Float64Array>> {
  readonly ids: readonly ProductId[];
}

/** The reason why a string cannot be a product id (contract, section 4.6, and Firestore's limits), if there is one. */
export function productIdError(id: string): string | undefined {
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
 * {@link productIdError}, since zod's record drops a `__proto__` key and collects every error of 100,000 products.
 */
export const addPriceListsRequest = z
  .object({
    info,
    products: z
      .record(
        z
          .string()
          .regex(/^(?!\s)(?![^]*\s$)(?!\.\.?$)(?!__[^]*__$)[^/]+$/)
          .refine((id) => productIdError(id) === undefined),
        productPrices,
      )
      .refine((products) => Object.keys(products).length > 0)
      .meta({ minProperties: 1 })
      .describe(
        'One entry for each product, under its identifier: no `/`, not `.` or `..`, not of the form `__name__`, no ' +
          `white space at either end, no lone surrogate, 1 to ${MAX_PRODUCT_ID_BYTES} bytes of UTF-8.`,
      ),
  })
  .meta({ id: 'AddPriceListsRequest' });

/** Reads a body to a validated and normalised submission, or to {@link InvalidPayload} with the first hundred field errors. */
export function priceListReader(): BodyReader<PriceListSubmission> {
  const judge = new ProductsJudge();
  const json = new LargeJson('products', judge);
  return { read: (text) => json.read(text), end: () => submissionOf(json.end(), judge) };
}

function submissionOf(body: unknown, judge: ProductsJudge): PriceListSubmission {
  if (!isObject(body))
    throw new InvalidPayload([{ path: 'body', message: expected('an object').error({ input: body }) }]);
  const judgedInfo = info.safeParse(body['info']);
  const errors = judgedInfo.success ? [] : fieldErrors(judgedInfo.error, ['info']);
  errors.push(...judge.errorsOf(body['products']));
  if (!judgedInfo.success || errors.length > 0) {
    throw new InvalidPayload(errors.slice(0, MAX_ERRORS), errors.length < MAX_ERRORS);
  }
  return { info: judgedInfo.data, products: judge.takeProducts() };
}

/** Products that are kept in one piece. */
const BLOCK = 1024;

/** Judges products one by one, and keeps them: in blocks, so that nothing is copied, and left for garbage, as they become more. */
class ProductsJudge implements Members {
  #blocks: (Products & { ids: ProductId[] })[] = [];
  #errors: FieldError[] = [];

  begin(): void {
    this.#blocks = [];
    this.#errors = [];
  }

  add(id: string, given: unknown): void {
    if (this.#errors.length >= MAX_ERRORS) return;
    const idError = productIdError(id);
    if (idError !== undefined) this.#errors.push({ path: `products.${shown(id)}`, message: idError });
    const prices = arePlainlyPrices(given) ? given : this.#judgePrices(id, given);
    if (prices !== undefined) this.#keep(id as ProductId, prices);
  }

  #judgePrices(id: string, given: unknown): ProductPrices | undefined {
    const prices = productPrices.safeParse(given);
    if (!prices.success) this.#errors.push(...fieldErrors(prices.error, ['products', shown(id)]));
    return prices.data;
  }

  #keep(id: ProductId, prices: ProductPrices): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.ids.length === BLOCK) {
      block = { ids: [], ...columns(() => new Float64Array(BLOCK)) };
      this.#blocks.push(block);
    }
    const i = block.ids.push(id) - 1;
    block.price_list_price[i] = prices.price_list_price;
    block.expected_forward_cost_price[i] = prices.expected_forward_cost_price;
  }

  /** What is wrong with the products, which were judged if they are an object. */
  errorsOf(products: unknown): FieldError[] {
    const refuse = (message: string) => [{ path: 'products', message }];
    if (!isObject(products))
      return refuse(`Expected an object of product identifiers to prices, received ${received(products)}`);
    if (this.#errors.length > 0) return this.#errors;
    return this.#blocks.length === 0 ? refuse('Expected at least one product') : [];
  }

  /**
   * Gives away the products, which have no errors, in code-unit order of their ids; of an id that came twice, the last.
   * Nothing of them is kept: what refers to this lives as long as the request.
   */
  takeProducts(): Products {
    const blocks = this.#blocks;
    this.begin();
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
      return blocks[Math.floor(place / BLOCK)]?.[name][place % BLOCK] ?? NaN;
    };
    return { ids, ...columns((name) => new Float64Array(count).map(inOrder(name))) };
  }
}

const columns = (make: (name: keyof ProductPrices) => Float64Array): Omit<Products, 'ids'> => ({
  price_list_price: make('price_list_price'),
  expected_forward_cost_price: make('expected_forward_cost_price'),
});

/**
 * Whether a value is what {@link productPrices} accepts and leaves as it is, but for unknown fields, which nobody reads.
 * So are nearly all, and zod takes ten times as long to say so; it judges whatever this does not accept.
 */
function arePlainlyPrices(value: unknown): value is ProductPrices {
  if (!isObject(value)) return false;
  const { price_list_price, expected_forward_cost_price } = value;
  return isPlainlyPrice(price_list_price) && isPlainlyPrice(expected_forward_cost_price);
}

const isPlainlyPrice = (value: unknown): boolean =>
  typeof value === 'number' && (value > 0 || Object.is(value, 0)) && value < Infinity;

/** An id as an error's path shows it: whole, unless it is far longer than an id can be. */
const shown = (id: string) => (id.length > MAX_PRODUCT_ID_BYTES ? `${id.slice(0, 100)}…` : id);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
