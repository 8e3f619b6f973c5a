import { ValidationError } from '../../functions/src/lib/errors';

/** Returns the validation error that `run` throws; undefined if it succeeds. */
export function catchValidationError(run: () => unknown): ValidationError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ValidationError) return error;
    throw error;
  }
}

/** Returns the paths of the fields in the validation error that `run` throws. Returns none if `run` succeeds. */
export const findInvalidPaths = (run: () => unknown): string[] =>
  catchValidationError(run)?.errors.map(({ path }) => path) ?? [];

/** Gives each value of a test table a short name. */
export const withLabels = <T>(values: readonly T[]): [name: string, value: T][] =>
  values.map((value) => {
    const json = value === undefined ? 'undefined' : JSON.stringify(value);
    return [json.length > 40 ? `${json.slice(0, 30)}… (${json.length})` : json, value];
  });

/** Values that no required text field accepts: no value, other types, an empty text, lone surrogates, and just over 10,000 bytes of UTF-8. */
export const invalidTexts = [
  undefined,
  null,
  '',
  1,
  true,
  [],
  {},
  '\ud800',
  'a'.repeat(10_001),
  `${'é'.repeat(5_000)}a`,
];

/** Values that every text field accepts: exactly 10,000 bytes, only whitespace, a control character, a surrogate pair. */
export const validTexts = ['a'.repeat(10_000), 'é'.repeat(5_000), ' ', '\u0000', '𝄞'];
