import * as z from 'zod';
import { findDocumentIdProblem, MAX_DOCUMENT_ID_BYTES } from '../document-id';
import { LoggableError, ValidationError, type FieldError } from '../errors';
import { describeReceived, expectedError, LONE_SURROGATE_MESSAGE, toFieldErrors, toShape } from './fields';
import { infoSchema, type PriceListInfo } from './info';

export { infoSchema, type PriceListInfo };

const priceSchema = z
  .number({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'Expected a finite number, received one too large'
        : expectedError('a non-negative number').error({ input }),
  })
  .nonnegative({ error: 'Expected a non-negative number, received a negative one' })
  // Some code generators map a number without a format to 32 bits, which changes prices.
  .meta({ description: 'Finite, non-negative.', format: 'double' });

export const productPricesSchema = z
  .object(
    { price_list_price: priceSchema, expected_forward_cost_price: priceSchema },
    expectedError('an object of two prices'),
  )
  .meta({ id: 'ProductPrices' });

export type ProductPrices = z.output<typeof productPricesSchema>;

/**
 * The whole request. {@link parsePriceLists} uses only its parts, because zod's record drops a `__proto__` member, takes
 * seconds for 500,000 products, and collects the errors of all of them.
 */
export const addPriceListsRequestSchema = z
  .object({
    info: infoSchema,
    products: z
      .record(
        z.string().refine((id) => validateProductId(id) === undefined),
        productPricesSchema,
      )
      .refine((products) => Object.keys(products).length > 0)
      .meta({ minProperties: 1 })
      .describe(
        `One member for each product, named by its identifier. An identifier has 1 to ${MAX_DOCUMENT_ID_BYTES} bytes of UTF-8, no \`/\`, no ` +
          'lone surrogate and no whitespace at either end, and is not `.`, `..` or of the form `__name__`.',
      ),
  })
  .meta({ id: 'AddPriceListsRequest' });

export const priceListsShape = toShape(addPriceListsRequestSchema);

export interface Products {
  /** In code-unit order. */
  ids: readonly string[];
  prices: ReadonlyMap<string, ProductPrices>;
}

/** @throws Error for an id that is not one of the products */
export function getPrices({ prices }: Products, id: string): ProductPrices {
  const found = prices.get(id);
  if (found === undefined) throw new LoggableError('a product has no prices');
  return found;
}

export interface PriceListSubmission {
  info: PriceListInfo;
  products: Products;
}

export const MAX_FIELD_ERRORS = 100;

/**
 * @param body what {@link priceListsShape} reads from a JSON text
 * @throws ValidationError with at most {@link MAX_FIELD_ERRORS} errors, those of `info` first
 */
export function parsePriceLists(body: unknown): PriceListSubmission {
  if (!isObject(body)) {
    throw new ValidationError([{ path: 'body', message: expectedError('an object').error({ input: body }) }]);
  }
  const info = infoSchema.safeParse(body['info']);
  const errors = info.success ? [] : toFieldErrors(info.error, ['info']);
  const products = parseProducts(body['products'], errors);
  if (info.success && errors.length === 0) return { info: info.data, products };
  throw new ValidationError(errors.slice(0, MAX_FIELD_ERRORS), errors.length < MAX_FIELD_ERRORS);
}

/** Adds errors to those of `info`, until a response can hold no more. The result is valid only if there are no errors. */
function parseProducts(value: unknown, errors: FieldError[]): Products {
  if (!(value instanceof Map)) {
    const message = `Expected an object of product identifiers to prices, received ${describeReceived(value)}`;
    errors.push({ path: 'products', message });
    return { ids: [], prices: new Map() };
  }
  const products = value as Map<string, unknown>;
  // Without a comparison function, `sort` is faster, and puts strings in code-unit order.
  const ids = [...products.keys()].sort();
  if (ids.length === 0) errors.push({ path: 'products', message: 'Expected at least one product' });
  for (const id of ids) {
    if (errors.length >= MAX_FIELD_ERRORS) break;
    const prices = products.get(id);
    const idError = validateProductId(id);
    if (idError !== undefined) errors.push({ path: `products.${toShownId(id)}`, message: idError });
    if (!isPrices(prices)) errors.push(...getPriceErrors(id, prices));
  }
  return { ids, prices: products as Map<string, ProductPrices> };
}

/** True exactly if {@link productPricesSchema} accepts the value. Used instead, because zod takes more than ten times as long. */
const isPrices = (value: unknown): value is ProductPrices =>
  isObject(value) && isPrice(value['price_list_price']) && isPrice(value['expected_forward_cost_price']);

const isPrice = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value < Infinity;

function getPriceErrors(id: string, value: unknown): FieldError[] {
  const { error } = productPricesSchema.safeParse(value);
  if (error === undefined) throw new LoggableError('isPrices rejects prices that the schema accepts');
  return toFieldErrors(error, ['products', toShownId(id)]);
}

/** Returns an id for the path of an error: well-formed, and truncated if it has more characters than a valid id can. */
const toShownId = (id: string) => (id.length > MAX_DOCUMENT_ID_BYTES ? `${id.slice(0, 100)}…` : id).toWellFormed();

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const DOCUMENT_ID_MESSAGES = {
  empty: 'Expected a non-empty product identifier',
  slash: 'A product identifier must not contain "/"',
  dots: 'A product identifier must not be "." or ".."',
  reserved: 'A product identifier must not match the reserved pattern __name__',
  too_long: `A product identifier must have at most ${MAX_DOCUMENT_ID_BYTES} bytes of UTF-8`,
} as const;

/**
 * Validates a product id: a document id that is well-formed and has no whitespace at either end
 * (docs/api.md#product-identifiers).
 *
 * @returns the message of the broken rule, or undefined for a valid id
 */
function validateProductId(id: string): string | undefined {
  const problem = findDocumentIdProblem(id);
  if (problem === 'empty') return DOCUMENT_ID_MESSAGES.empty;
  if (!id.isWellFormed()) return LONE_SURROGATE_MESSAGE;
  if (id !== id.trim()) return 'A product identifier must not start or end with whitespace';
  return problem && DOCUMENT_ID_MESSAGES[problem];
}
