import * as z from 'zod';
import { MAX_DOCUMENT_ID_BYTES } from '../../functions/src/lib/document-id';
import type { ErrorCode } from '../../functions/src/lib/errors';
import { infoSchema, productPricesSchema, validateProductId } from '../../functions/src/lib/schemas/add-price-lists';
import { supplyOrderSchema } from '../../functions/src/lib/schemas/responses';

/** The bodies of errors, and those that the service parses or writes record by record, each as one schema. */

/**
 * The service validates requests with the parts of this schema and {@link validateProductId}, because zod's record
 * drops a `__proto__` key and collects every error of 100,000 products.
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
          `whitespace at either end, no lone surrogate, 1 to ${MAX_DOCUMENT_ID_BYTES} bytes of UTF-8.`,
      ),
  })
  .meta({ id: 'AddPriceListsRequest' });

const countField = z.int().nonnegative().describe('Number of records in the response. Comes last.');

/** Creates the schema of a response: an object `name` with the records by their ids, and `count`. @param id the name of the schema */
export const createRecordMap = (id: string, name: string, record: z.ZodType) =>
  z.object({ [name]: z.record(z.string(), record), count: countField }).meta({ id });

export const supplyOrdersInvoicesResponseSchema = z
  .object({
    supply_orders: z.array(supplyOrderSchema).describe('Oldest first, then by identifier.'),
    count: countField,
  })
  .meta({ id: 'InvoicesResponse' });

const fieldErrorSchema = z
  .object({
    path: z.string().describe('Path of the invalid field, such as `products.<product_id>.price_list_price`.'),
    message: z.string().describe('What is wrong. Never contains the value.'),
  })
  .meta({ id: 'FieldError' });

export const errorResponseSchema = z.object({ error: z.string() }).meta({ id: 'ErrorResponse' });

const validationErrorResponseSchema = z
  .object({
    success: z.boolean().describe('Always false.'),
    message: z.string().describe('States that the payload is invalid, and whether validation stopped early.'),
    errors: z.array(fieldErrorSchema).min(1),
  })
  .meta({ id: 'ValidationErrorResponse' });

export const getErrorResponseSchema = (errorCode: ErrorCode) =>
  errorCode === 'validation_failed' ? validationErrorResponseSchema : errorResponseSchema;
