import { z } from 'zod';
import { ValidationError } from '../errors';
import type { FieldError } from './responses';

/**
 * The request bodies of the two read operations, and the rules that every body shares.
 * Unknown fields are ignored; strings are not trimmed.
 */

/** The most bytes of UTF-8 that a text field may hold. */
export const MAX_TEXT_BYTES = 10_000;

const LONE_SURROGATE_MESSAGE = 'Expected well-formed Unicode, received a lone surrogate';

/**
 * What kind of value came where one of a type was expected. Never the value: an answer echoes nothing of a request.
 */
export function describeReceived(value: unknown, type?: 'string' | 'number'): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (value === '') return 'an empty string';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === type) return `another ${type}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The message of a field that is not what was expected: what was, and what came. */
export const expectedError = (what: string, type?: 'string' | 'number') => ({
  error: ({ input }: { input?: unknown }) => `Expected ${what}, received ${describeReceived(input, type)}`,
});

const TEXT_ERROR = expectedError('a string that is not empty');

/** A text field: not empty, well-formed (Firestore would store two different lone surrogates as one), bounded. */
export const textField = z
  .string(TEXT_ERROR)
  // Not `.min(1)`, which zod also puts to an empty array, for a second error.
  .refine((value) => value !== '', { ...TEXT_ERROR, abort: true })
  .refine((value) => value.isWellFormed(), { error: LONE_SURROGATE_MESSAGE, abort: true })
  .refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES, {
    error: `Expected at most ${MAX_TEXT_BYTES} bytes of UTF-8, received more`,
  })
  .meta({
    description: `Not empty, at most ${MAX_TEXT_BYTES} bytes of UTF-8, no lone surrogate. Not trimmed.`,
    minLength: 1,
  });

const dateField = (meaning: string) =>
  z.iso
    .date(expectedError('a real date as YYYY-MM-DD', 'string'))
    .describe(`${meaning}: a real calendar date, midnight UTC.`)
    .transform((value) => Date.parse(`${value}T00:00:00.000Z`));

/** A team's records of a range of days: `start_date` inclusive, `end_date` exclusive, both midnight UTC in Unix ms. */
const teamDateRangeFields = {
  team_id: textField,
  start_date: dateField('First day'),
  end_date: dateField('The day after the last'),
};

const OBJECT_ERROR = expectedError('an object');

export const orderStatuses = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'] as const;

/** Contract, section 4.1. `ALL` is a filter value, not a state. */
export const ordersByTeamRequestSchema = z
  .object(
    {
      ...teamDateRangeFields,
      status: z
        .enum([...orderStatuses, 'ALL'], expectedError(`one of ${orderStatuses.join(', ')}, ALL`, 'string'))
        .describe('`ALL` for orders of any status.'),
    },
    OBJECT_ERROR,
  )
  .meta({ id: 'OrdersByTeamRequest' });
export type OrdersByTeamRequest = z.output<typeof ordersByTeamRequestSchema>;

/** Contract, section 4.5. `null` stands for any status. */
export const supplyOrdersInvoicesRequestSchema = z
  .object(
    {
      ...teamDateRangeFields,
      status: z
        .literal([0, 1, null], expectedError('0, 1 or null', 'number'))
        .describe('`null` for supply orders of any status.')
        // JSON's -0 is the same status as 0.
        .transform((status) => (status === 0 ? 0 : status)),
    },
    OBJECT_ERROR,
  )
  .meta({ id: 'SupplyOrdersInvoicesRequest' });
export type SupplyOrdersInvoicesRequest = z.output<typeof supplyOrdersInvoicesRequestSchema>;

/** The judge of a body: the validated value, or {@link ValidationError} with every field error. */
export function validateWith<Schema extends z.ZodType>(schema: Schema): (body: unknown) => z.output<Schema> {
  return (body) => {
    const result = schema.safeParse(body);
    if (result.success) return result.data;
    throw new ValidationError(toFieldErrors(result.error, []));
  };
}

/** zod's issues as the contract's field errors, under the path of the value that was judged. */
export function toFieldErrors(error: z.ZodError, under: readonly string[]): FieldError[] {
  return error.issues.map(({ path, message }) => ({
    path: [...under, ...path.map(String)].join('.') || 'body',
    message,
  }));
}
