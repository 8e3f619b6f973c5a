import { ValidationError } from '../../src/lib/errors';
import type { ReceivedResponse } from './received-response';

/** The paths of the fields for which `run` throws a validation error, each with a reason; none if it returns. */
export function findInvalidPaths(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    for (const { message } of error.errors) expect(message).not.toBe('');
    return error.errors.map(({ path }) => path);
  }
  return [];
}

/** The paths of a validation error response, each with a reason; fails for any other response. */
export function expectValidationErrorPaths({ status, json }: ReceivedResponse): string[] {
  expect([status, json]).toEqual([
    400,
    {
      success: false,
      message: expect.stringMatching(/^Payload is invalid/) as string,
      errors: expect.any(Array) as unknown,
    },
  ]);
  const { errors } = json as { errors: { path: string; message: string }[] };
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) {
    expect(error).toEqual({ path: expect.any(String) as string, message: expect.stringMatching(/./) as string });
  }
  return errors.map(({ path }) => path);
}

/** Values for a table of tests, each under a name that is short however long the value is. */
export const withLabels = <T>(values: readonly T[]): [name: string, value: T][] =>
  values.map((value) => {
    const json = value === undefined ? 'undefined' : JSON.stringify(value);
    return [json.length > 40 ? `${json.slice(0, 30)}… (${json.length})` : json, value];
  });

/** Values that are not a non-empty text, for any field. */
export const invalidTexts = [undefined, null, '', 0, 1.5, true, [], ['a'], {}, { a: 'b' }];

/** Texts that no field takes: JSON can write a lone surrogate, UTF-8 cannot. */
export const loneSurrogates = ['\ud800', '\udfff', 'a\ud83db', '\udc00\ud800'];

/** Texts of just over 10,000 bytes of UTF-8, though the last two are fewer characters. */
export const textsOverLimit = ['a'.repeat(10_001), `${'é'.repeat(5_000)}a`, `${'𝄞'.repeat(2_500)}a`];

/** Texts of exactly 10,000 bytes. */
export const textsAtLimit = ['a'.repeat(10_000), 'é'.repeat(5_000), '𝄞'.repeat(2_500)];
