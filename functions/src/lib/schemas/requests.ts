import { z } from 'zod';
import { InvalidPayload } from '../http/errors';
import type { FieldError } from './responses';

/**
 * The request bodies of the two read operations, and the rules that every body shares.
 * Unknown fields are ignored; strings are not trimmed.
 */

/** The most bytes of UTF-8 that a text field may hold. */
export const MAX_TEXT_BYTES = 10_000;

const WELL_FORMED = 'Expected well-formed Unicode, received a lone surrogate';

/**
 * What kind of value came where one of a type was expected. Never the value: an answer echoes nothing of a request.
 */
export function received(value: unknown, type?: 'string' | 'number'): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (value === '') return 'an empty string';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === type) return `another ${type}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The message of a field that is not what was expected: what was, and what came. */
export const expected = (what: string, type?: 'string' | 'number') => ({
  error: ({ input }: { input?: unknown }) => `Expected ${what}, received ${received(input, type)}`,
});

const aText = expected('a string that is not empty');

/** A text field: not empty, well-formed (Firestore would store two different lone surrogates as one), bounded. */
export const text = z
  .string(aText)
  // Not `.min(1)`, which zod also puts to an empty array, for a second error.
  .refine((value) => value !== '', { ...aText, abort: true })
  .refine((value) => value.isWellFormed(), { error: WELL_FORMED, abort: true })
  .refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES, {
    error: `Expected at most ${MAX_TEXT_BYTES} bytes of UTF-8, received more`,
  })
  .meta({
    description: `Not empty, at most ${MAX_TEXT_BYTES} bytes of UTF-8, no lone surrogate. Not trimmed.`,
    minLength: 1,
  });

const day = (meaning: string) =>
  z.iso
    .date(expected('a real date as YYYY-MM-DD', 'string'))
    .describe(`${meaning}: a real calendar date, midnight UTC.`)
    .transform((value) => Date.parse(`${value}T00:00:00.000Z`));

/** A team's records of a range of days: `start_date` inclusive, `end_date` exclusive, both midnight UTC in Unix ms. */
const teamAndRange = { team_id: text, start_date: day('First day'), end_date: day('The day after the last') };

const anObject = expected('an object');

export const orderStatuses = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'] as const;

/** Contract, section 4.1. `ALL` is a filter value, not a state. */
export const ordersByTeamRequest = z
  .object(
    {
      ...teamAndRange,
      status: z
        .enum([...orderStatuses, 'ALL'], expected(`one of ${orderStatuses.join(', ')}, ALL`, 'string'))
        .describe('`ALL` for orders of any status.'),
    },
    anObject,
  )
  .meta({ id: 'OrdersByTeamRequest' });
export type OrdersByTeamRequest = z.output<typeof ordersByTeamRequest>;

/** Contract, section 4.5. `null` stands for any status. */
export const supplyOrdersInvoicesRequest = z
  .object(
    {
      ...teamAndRange,
      status: z
        .literal([0, 1, null], expected('0, 1 or null', 'number'))
        .describe('`null` for supply orders of any status.')
        // JSON's -0 is the same status as 0.
        .transform((status) => (status === 0 ? 0 : status)),
    },
    anObject,
  )
  .meta({ id: 'SupplyOrdersInvoicesRequest' });
export type SupplyOrdersInvoicesRequest = z.output<typeof supplyOrdersInvoicesRequest>;

/** The judge of a body: the validated value, or {@link InvalidPayload} with every field error. */
export function judgeBy<Schema extends z.ZodType>(schema: Schema): (body: unknown) => z.output<Schema> {
  return (body) => {
    const judged = schema.safeParse(body);
    if (judged.success) return judged.data;
    throw new InvalidPayload(fieldErrors(judged.error, []));
  };
}

/** zod's issues as the contract's field errors, under the path of the value that was judged. */
export function fieldErrors(error: z.ZodError, under: readonly string[]): FieldError[] {
  return error.issues.map(({ path, message }) => ({
    path: [...under, ...path.map(String)].join('.') || 'body',
    message,
  }));
}
