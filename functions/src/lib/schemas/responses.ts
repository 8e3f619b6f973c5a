import { z } from 'zod';
import type { ErrorCode } from '../errors';

/**
 * Every answer's body (contract, sections 2, 4 and 7). The types of what the service sends follow from these schemas, and so
 * does docs/openapi.json; nothing is parsed with them while the service runs.
 */

const NULL_IF_MALFORMED = 'Null where the stored record is incomplete or malformed.';

const id = z.string();
const count = z.int().nonnegative().describe('How many records the answer holds. Stands last: it is known only then.');
const storedText = z.string().min(1).nullable().describe(NULL_IF_MALFORMED);
const codeField = (what: string) => storedText.describe(`${what}, trimmed and uppercased. ${NULL_IF_MALFORMED}`);
const countryCode = codeField('Country code');
const currencyCode = codeField('Currency code');
const unixMs = z.int().describe('Unix milliseconds.');

/** Contract, section 2.1. */
export const orderSchema = z
  .object({
    customer_data: z.object({
      customer_id: storedText.describe(`The customer that owns the order. ${NULL_IF_MALFORMED}`),
      customer_name: storedText,
    }),
    invoice_id: storedText.describe(`The order's invoicing record. ${NULL_IF_MALFORMED}`),
    market_id: storedText,
    team_id: storedText,
  })
  .meta({ id: 'Order' });
export type Order = z.output<typeof orderSchema>;

/** A warehouse or a team: contract, sections 2.2 and 2.4. */
const place = z.object({ name: storedText, country_iso: countryCode });
export type NamedRecord = z.output<typeof place>;

export const warehouseSchema = place.meta({ id: 'Warehouse' });
export const teamSchema = place.meta({ id: 'Team' });

/** Contract, section 2.3. */
export const marketSchema = place
  .extend({ name: storedText.describe(`The English name. ${NULL_IF_MALFORMED}`), currency_iso: currencyCode })
  .meta({ id: 'Market' });
export type Market = z.output<typeof marketSchema>;

/** Contract, section 2.5. */
export const supplyOrderSchema = z
  .object({
    id: z.string().describe("The supply order's identifier."),
    invoices: z
      .array(
        z
          .object({ name: z.string().min(1), url: z.string().min(1).describe('Address of the invoice document.') })
          .meta({ id: 'Invoice' }),
      )
      .describe('Empty for a supply order without invoices; a stored entry without a name or an address is left out.'),
  })
  .meta({ id: 'SupplyOrder' });
export type SupplyOrder = z.output<typeof supplyOrderSchema>;

export const ordersByTeamResponse = z.object({ orders: z.record(id, orderSchema), count }).meta({ id: 'OrdersByTeam' });
export const warehousesResponse = z
  .object({ warehouses: z.record(id, warehouseSchema), count })
  .meta({ id: 'Warehouses' });
export const marketsResponse = z.object({ markets: z.record(id, marketSchema), count }).meta({ id: 'Markets' });
export const teamsResponse = z.object({ teams: z.record(id, teamSchema), count }).meta({ id: 'Teams' });
export const supplyOrdersInvoicesResponse = z
  .object({ supply_orders: z.array(supplyOrderSchema).describe('Oldest first, then by identifier.'), count })
  .meta({ id: 'SupplyOrdersInvoices' });

/** Contract, section 3.2. */
const listStatus = z
  .enum(['processing', 'ready', 'failed'])
  .describe('Only a `ready` list is to be used. An answer always shows `ready`.');
export type ListStatus = z.output<typeof listStatus>;

/** The parent of an expected forward cost list as it is stored, under its id: contract, section 2.6. */
const listParent = z.object({
  status: listStatus,
  created_at: unixMs,
  updated_at: unixMs,
  currency: z.string().describe("The market's currency; the request's for a market without one."),
  market_id: z.string(),
  market_iso: countryCode,
  name: z.string(),
  new_date: z.object({ year: z.int(), month: z.int().min(1).max(12).describe('1 is January.') }),
});
export type ListDocument = z.output<typeof listParent>;

/** The parent of a price list: the same, and the month as it was sent. */
const priceListParent = listParent.extend({ date: z.string().describe('MM/YYYY') });
export type PriceListDocument = z.output<typeof priceListParent>;

const acceptedSchema = z.object({
  success: z.literal(true),
  message: z.string().describe('States that the payload is valid and stored.'),
  products_count: z.int().positive(),
  document_id: z.string().describe('The request record. Quote it when you ask us about this price list.'),
});

const createdSchema = acceptedSchema
  .extend({
    market: z.object({ id: z.string(), name: storedText, iso: countryCode }),
    expected_forward_cost: z.object({ id, ...listParent.shape }).meta({ id: 'ExpectedForwardCostList' }),
    price_list: z.object({ id, ...priceListParent.shape }).meta({ id: 'PriceList' }),
  })
  .meta({ id: 'PriceListsCreated', description: 'The market exists: both lists are created and ready.' });

const acceptedOnlySchema = acceptedSchema
  .extend({ market: z.null(), expected_forward_cost: z.null(), price_list: z.null() })
  .meta({ id: 'PriceListStoredOnly', description: 'No market has this identifier: only the request is stored.' });

/** Contract, section 4.6: the market found, or not. */
export const addPriceListsResponse = z.union([createdSchema, acceptedOnlySchema]).meta({ id: 'AddPriceLists' });
export type AddPriceListsResponse = z.output<typeof addPriceListsResponse>;

/** One reason why a payload is refused. */
const fieldError = z
  .object({
    path: z.string().describe('The offending field, dotted, such as `products.<product_id>.price_list_price`.'),
    message: z.string().describe('What was expected of it, and what kind of value came. Never the value itself.'),
  })
  .meta({ id: 'FieldError' });
export type FieldError = z.output<typeof fieldError>;

/** The simple shape of an error (contract, section 7). */
export const errorResponseSchema = z.object({ error: z.string() }).meta({ id: 'Error' });
export type ErrorResponse = z.output<typeof errorResponseSchema>;

/** The validation shape of an error (contract, section 7). */
export const validationErrorResponseSchema = z
  .object({
    success: z.literal(false),
    message: z.string().describe('States that the payload is invalid, and whether judging stopped before its end.'),
    errors: z.array(fieldError).min(1),
  })
  .meta({ id: 'ValidationError' });
export type ValidationErrorResponse = z.output<typeof validationErrorResponseSchema>;

/** The shape that each error is answered in. */
export const getErrorResponseSchema = (errorCode: ErrorCode) =>
  errorCode === 'validation_failed' ? validationErrorResponseSchema : errorResponseSchema;
