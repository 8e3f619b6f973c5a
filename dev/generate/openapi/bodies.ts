import * as z from 'zod';
import type { ErrorCode } from '../../../functions/src/lib/errors';
import { supplyOrderSchema } from '../../../functions/src/lib/schemas/responses';

/** The schemas of error bodies, and of the bodies that the service writes record by record. */

const countField = z.int().nonnegative().describe('Number of records in the response. Comes last.');

/** Creates the schema of a response: a member of the given name, which maps ids to records, and `count`. @param id name of the schema */
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
    path: z
      .string()
      .describe(
        'Path of the invalid field, such as `products.<product_id>.price_list_price`, or `body` if the body itself or a header that describes it is invalid.',
      ),
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
