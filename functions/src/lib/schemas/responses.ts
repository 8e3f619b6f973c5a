import * as z from 'zod';
import { listInfoSchema } from './info';

/**
 * The records in responses, and the response of add price lists. Their types and docs/openapi.json follow from these
 * schemas. No response is parsed with them at run time.
 */

const NULL_IF_MALFORMED = 'Null if this field is missing or malformed in the stored record.';

const idField = z.string();
const nullableText = z.string().min(1).nullable().describe(NULL_IF_MALFORMED);
const codeField = (what: string) => nullableText.describe(`${what}, trimmed and uppercased. ${NULL_IF_MALFORMED}`);
const countryCode = codeField('Country code');
const currencyCode = codeField('Currency code');
const unixMs = z.int().meta({ description: 'Unix milliseconds.', format: 'int64' });

export const orderSchema = z
  .object({
    customer_data: z.object({
      customer_id: nullableText.describe(`Customer that owns the order. ${NULL_IF_MALFORMED}`),
      customer_name: nullableText,
    }),
    invoice_id: nullableText.describe(`Invoicing record of the order. ${NULL_IF_MALFORMED}`),
    market_id: nullableText,
    team_id: nullableText,
  })
  .meta({ id: 'Order' });
export type Order = z.output<typeof orderSchema>;

const namedRecord = z.object({ name: nullableText, country_iso: countryCode });
export type NamedRecord = z.output<typeof namedRecord>;

export const warehouseSchema = namedRecord.meta({ id: 'Warehouse' });
export const teamSchema = namedRecord.meta({ id: 'Team' });

export const marketSchema = namedRecord
  .extend({ name: nullableText.describe(`English name. ${NULL_IF_MALFORMED}`), currency_iso: currencyCode })
  .meta({ id: 'Market' });
export type Market = z.output<typeof marketSchema>;

export const supplyOrderSchema = z
  .object({
    id: z.string().describe('Identifier of the supply order.'),
    invoices: z
      .array(
        z
          .object({ name: z.string().min(1), url: z.string().min(1).describe('Address of the invoice document.') })
          .meta({ id: 'Invoice' }),
      )
      .describe('Empty for a supply order without invoices. A stored entry without a name or an address is left out.'),
  })
  .meta({ id: 'SupplyOrder' });
/** A supply order without its `id`, which is the id of the document. */
export type SupplyOrder = Omit<z.output<typeof supplyOrderSchema>, 'id'>;

const listDocumentSchema = z.object({
  status: z
    .enum(['processing', 'ready', 'failed'])
    .describe('Use a list only if it is `ready`, as it always is in a response.'),
  created_at: unixMs,
  updated_at: unixMs,
  ...listInfoSchema.omit({ date: true }).shape,
  currency: z.string().describe("The market's currency; the request's if the market has no usable one."),
  market_iso: countryCode,
  new_date: z.object({ year: z.int(), month: z.int().min(1).max(12).describe('1 is January.') }),
});
export type ListDocument = z.output<typeof listDocumentSchema>;
export type ListStatus = ListDocument['status'];

const priceListDocumentSchema = listDocumentSchema.extend({ date: listInfoSchema.shape.date });
export type PriceListDocument = z.output<typeof priceListDocumentSchema>;

const NULL_WITHOUT_MARKET = 'Null if no market has the `market_id`: then only the request is stored.';

/** One object with nullable members instead of a union, because generated clients of a union would lack the members that can be null. */
export const addPriceListsResponseSchema = z
  .object({
    success: z.boolean().describe('Always true.'),
    message: z.string().describe('States that the payload is valid and stored.'),
    // Not `.positive()`, because some code generators refuse an exclusive minimum of an integer.
    products_count: z.int().min(1),
    document_id: z.string().describe('Identifier of the request record. Quote it when you contact support.'),
    market: z
      .object({ id: z.string(), name: nullableText, iso: countryCode })
      .meta({ id: 'ListMarket' })
      .nullable()
      .describe(`The market of the lists. ${NULL_WITHOUT_MARKET}`),
    expected_forward_cost: z
      .object({ id: idField, ...listDocumentSchema.shape })
      .meta({ id: 'ExpectedForwardCostList' })
      .nullable()
      .describe(NULL_WITHOUT_MARKET),
    price_list: z
      .object({ id: idField, ...priceListDocumentSchema.shape })
      .meta({ id: 'PriceList' })
      .nullable()
      .describe(NULL_WITHOUT_MARKET),
  })
  .meta({ id: 'PriceListsResponse' });
export type PriceListsResponse = z.output<typeof addPriceListsResponseSchema>;
