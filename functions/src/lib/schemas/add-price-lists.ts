import * as z from 'zod';
import { findDocumentIdProblem, MAX_DOCUMENT_ID_BYTES } from '../document-id';
import { ValidationError } from '../errors';
import type { ParsedJson } from '../json';
import { expectedError, LONE_SURROGATE_MESSAGE, textField, validate } from './fields';

export const infoSchema = z
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

// Adding 0 turns -0, which a JSON text can have, into 0. Both are the same price.
const priceSchema = z
  .number({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'Expected a finite number, received one too large'
        : expectedError('a non-negative number').error({ input }),
  })
  .nonnegative({ error: 'Expected a non-negative number, received a negative one' })
  // Some code generators map a number without a format to 32 bits, which changes prices.
  .meta({ description: 'Finite, non-negative.', format: 'double' })
  .transform((value) => value + 0);

export const productPricesSchema = z
  .object(
    { price_list_price: priceSchema, expected_forward_cost_price: priceSchema },
    expectedError('an object of two prices'),
  )
  .meta({ id: 'ProductPrices' });

export type PriceListInfo = z.output<typeof infoSchema>;
export type ProductPrices = z.output<typeof productPricesSchema>;

const DOCUMENT_ID_MESSAGES = {
  empty: 'Expected a non-empty product identifier',
  slash: 'A product identifier must not contain "/"',
  dots: 'A product identifier must not be "." or ".."',
  reserved: 'A product identifier must not match the reserved pattern __name__',
  too_long: `A product identifier has at most ${MAX_DOCUMENT_ID_BYTES} bytes of UTF-8`,
} as const;

/**
 * Validates a product id: a document id that is well-formed and has no whitespace at either end
 * (docs/api.md#product-identifiers).
 *
 * @returns the message of the broken rule, or undefined for a valid id
 */
export function validateProductId(id: string): string | undefined {
  const problem = findDocumentIdProblem(id);
  if (problem === 'empty') return DOCUMENT_ID_MESSAGES.empty;
  if (!id.isWellFormed()) return LONE_SURROGATE_MESSAGE;
  if (id !== id.trim()) return 'A product identifier must not start or end with whitespace';
  return problem && DOCUMENT_ID_MESSAGES[problem];
}

export interface PriceListSubmission {
  info: PriceListInfo;
  products: ReadonlyMap<string, ProductPrices>;
}

/** Placeholder until the room of requests follows. */
export function parsePriceLists({ value, getName }: ParsedJson): PriceListSubmission {
  const body = value as { info: unknown; products: Record<string, unknown> };
  const info = validate(infoSchema, body.info);
  const products = Object.keys(body.products).map((member) => {
    const id = getName(member);
    const problem = validateProductId(id);
    if (problem !== undefined) throw new ValidationError([{ path: `products.${id}`, message: problem }]);
    return [id, validate(productPricesSchema, body.products[member])] as const;
  });
  return { info, products: new Map(products.sort(([a], [b]) => (a < b ? -1 : 1))) };
}
