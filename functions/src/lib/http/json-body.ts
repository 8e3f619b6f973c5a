import type * as z from 'zod';
import { READ_BODY_LIMITS } from '../payload-limits';
import { validate } from '../schemas/fields';
import type { RequestBody } from './request-body';

export const jsonBody = <Schema extends z.ZodType>(schema: Schema): RequestBody<z.output<Schema>> => ({
  ...READ_BODY_LIMITS,
  parse: ({ value }) => validate(schema, value),
});
