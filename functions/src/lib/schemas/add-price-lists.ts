import { z } from 'zod';
import { InvalidPayload, type FieldError } from '../http/errors';
import { fieldErrors, text } from './requests';

/**
 * The body of add price lists (contract, section 4.6): judged product by product, so that 100,000 bad products are as
 * cheap to refuse as good ones are to accept.
 */

declare const productId: unique symbol;
/** A string that has passed {@link productIdError}: usable as a Firestore document id. */
export type ProductId = string & { readonly [productId]: true };

const MAX_PRODUCT_ID_BYTES = 1500;
const MAX_ERRORS = 100;

const info = z.object({
  market_id: text,
  boq_list_id: text,
  currency_iso: z
    .string()
    .regex(/^[A-Za-z]{3}$/, 'Expected a currency code of three letters')
    .transform((code) => code.toUpperCase()),
  date: z.string().regex(/^(0[1-9]|1[0-2])\/\d{4}$/, 'Expected a month as MM/YYYY'),
  name: text,
});

// Adding 0 turns -0 into 0: the two are one price, and Firestore and JSON would tell them apart.
const price = z
  .number({ error: (issue) => (issue.input === Infinity ? 'Expected a finite number' : undefined) })
  .nonnegative({ error: 'Expected a number that is not negative' })
  .transform((value) => value + 0);

const productPrices = z.object({ price_list_price: price, expected_forward_cost_price: price });

export type PriceListInfo = z.output<typeof info>;
export type ProductPrices = z.output<typeof productPrices>;

/** A valid submission, normalised. Products stand in code-unit order of their ids, with own keys only. */
export interface PriceListSubmission {
  info: PriceListInfo;
  products: readonly (readonly [ProductId, ProductPrices])[];
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

/** The validated and normalised submission, or {@link InvalidPayload} with the first hundred field errors. */
export function judgePriceListSubmission(body: unknown): PriceListSubmission {
  if (!isObject(body)) throw new InvalidPayload([{ path: 'body', message: 'Expected an object' }]);
  const judgedInfo = info.safeParse(body['info']);
  const errors = judgedInfo.success ? [] : fieldErrors(judgedInfo.error, ['info']);
  const products = judgeProducts(body['products'], errors);
  if (!judgedInfo.success || errors.length > 0) {
    throw new InvalidPayload(errors.slice(0, MAX_ERRORS), errors.length < MAX_ERRORS);
  }
  return { info: judgedInfo.data, products };
}

function judgeProducts(products: unknown, errors: FieldError[]): PriceListSubmission['products'] {
  const refuse = (message: string) => void errors.push({ path: 'products', message });
  if (!isObject(products)) {
    refuse('Expected an object of product identifiers to prices');
    return [];
  }
  const ids = Object.keys(products);
  if (ids.length === 0) refuse('Expected at least one product');

  const judged: [ProductId, ProductPrices][] = [];
  for (const id of ids) {
    if (errors.length >= MAX_ERRORS) break;
    const idError = productIdError(id);
    if (idError !== undefined) errors.push({ path: `products.${shown(id)}`, message: idError });
    const prices = productPrices.safeParse(products[id]);
    if (prices.success) judged.push([id as ProductId, prices.data]);
    else errors.push(...fieldErrors(prices.error, ['products', shown(id)]));
  }
  return judged.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** An id as an error's path shows it: whole, unless it is far longer than an id can be. */
const shown = (id: string) => (id.length > MAX_PRODUCT_ID_BYTES ? `${id.slice(0, 100)}…` : id);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
