import * as z from 'zod';
import { ValidationError, type FieldError } from '../errors';
import type { Shape } from '../json';

/** Rules that the fields of all bodies share, and their errors. Strings are not trimmed. */

export const MAX_TEXT_BYTES = 10_000;

export const LONE_SURROGATE_MESSAGE = 'Expected well-formed Unicode, received a lone surrogate';

/**
 * Describes an invalid value by its kind only, because an error response never repeats a value of
 * the body.
 *
 * @param type the expected type, if a value of the right type may still be invalid
 */
export function describeReceived(value: unknown, type?: 'string' | 'number'): string {
  if (value === undefined) return 'no value';
  if (value === null) return 'null';
  if (value === '') return 'an empty string';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === type) return `a different ${type}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export const expectedError = (what: string, type?: 'string' | 'number') => ({
  error: ({ input }: { input?: unknown }) => `Expected ${what}, received ${describeReceived(input, type)}`,
});

const TEXT_ERROR = expectedError('a non-empty string');

/** A bounded, non-empty string without lone surrogates, all of which Firestore would store as the same character. */
export const textField = z
  .string(TEXT_ERROR)
  // Not `.min(1)`: zod applies it to an empty array too and reports a second error.
  .refine((value) => value !== '', { ...TEXT_ERROR, abort: true })
  .refine((value) => value.isWellFormed(), { error: LONE_SURROGATE_MESSAGE, abort: true })
  .refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES, {
    error: `Expected at most ${MAX_TEXT_BYTES} bytes of UTF-8, received more`,
  })
  .meta({
    description: `Not empty, at most ${MAX_TEXT_BYTES} bytes of UTF-8, no lone surrogate. Not trimmed.`,
    minLength: 1,
  });

/**
 * Returns what to read from a JSON text for a schema: the members that its objects declare, and the values of its records.
 *
 * @throws Error for a kind of schema that no body has so far, because its values might not be read
 */
export function toShape(schema: z.core.$ZodType): Shape {
  const { def } = (schema as z.ZodType)._zod as { def: z.core.$ZodTypes['_zod']['def'] };
  switch (def.type) {
    case 'object':
      return {
        kind: 'object',
        members: Object.entries(def.shape).map(([name, value]) => ({ name, shape: toShape(value) })),
      };
    case 'record':
      return { kind: 'map', values: toShape(def.valueType) };
    case 'optional':
      return toShape(def.innerType);
    case 'pipe':
      return toShape(def.in);
    case 'string':
    case 'number':
    case 'enum':
    case 'union':
      return { kind: 'scalar' };
    default:
      throw new Error(`toShape has no shape for a schema of the type ${def.type}`);
  }
}

/** @throws ValidationError with all field errors */
export function validate<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new ValidationError(toFieldErrors(result.error, []));
}

/** @param under path of the validated value in the body */
export function toFieldErrors(error: z.ZodError, under: readonly string[]): FieldError[] {
  // eslint-disable-next-line no-restricted-syntax -- The texts of the schemas, for the client and not for the log.
  return error.issues.map(({ path, message }) => ({
    path: [...under, ...path.map(String)].join('.') || 'body',
    message,
  }));
}
