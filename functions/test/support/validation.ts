import { ValidationError } from '../../src/lib/errors';
import type { ReceivedResponse } from '../../../scripts/harness/received-response';

/** Returns the paths of the fields in the validation error that `run` throws. Returns none if `run` succeeds. */
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

/** Returns the paths in a validation error response. Fails for any other response. */
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

/** Gives each value of a test table a short name. */
export const withLabels = <T>(values: readonly T[]): [name: string, value: T][] =>
  values.map((value) => {
    const json = value === undefined ? 'undefined' : JSON.stringify(value);
    return [json.length > 40 ? `${json.slice(0, 30)}… (${json.length})` : json, value];
  });

/** Values that no required text field accepts. */
export const invalidTexts = [undefined, null, '', 0, 1.5, true, [], ['a'], {}, { a: 'b' }];

/** Texts that no field accepts, because UTF-8 cannot encode a lone surrogate. */
export const loneSurrogates = ['\ud800', '\udfff', 'a\ud83db', '\udc00\ud800'];

/** Texts of just over 10,000 bytes of UTF-8. The last two have fewer than 10,000 characters. */
export const textsOverLimit = ['a'.repeat(10_001), `${'é'.repeat(5_000)}a`, `${'𝄞'.repeat(2_500)}a`];

/** Texts of exactly 10,000 bytes. */
export const textsAtLimit = ['a'.repeat(10_000), 'é'.repeat(5_000), '𝄞'.repeat(2_500)];
