import crypto from 'node:crypto';
import fc from 'fast-check';
import { isValidApiKey } from '../../../../src/lib/http/api-key';

const keys = fc.array(fc.string({ minLength: 1, unit: 'binary' }), { maxLength: 4 });

describe('a key', () => {
  test('is valid if it is one of the configured ones, to the letter', () =>
    fc.assert(
      fc.property(keys, fc.string({ unit: 'binary' }), fc.nat(3), (configured, other, i) => {
        const presented = configured[i] ?? other;
        expect(isValidApiKey(presented, configured)).toBe(configured.includes(presented));
        expect(isValidApiKey(`${presented} `, configured)).toBe(configured.includes(`${presented} `));
      }),
    ));

  test('that is missing or empty is never valid', () =>
    fc.assert(
      fc.property(keys, (configured) => {
        expect([isValidApiKey(undefined, configured), isValidApiKey('', configured)]).toEqual([false, false]);
      }),
    ));

  test.each(['first', 'second', 'third', 'none', '', 'x'.repeat(10_000)])(
    'is compared with every configured one as a digest in constant time (%#)',
    (presented) => {
      const compare = jest.spyOn(crypto, 'timingSafeEqual');
      isValidApiKey(presented, ['first', 'second', 'third']);
      const lengths = compare.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]);
      compare.mockRestore();
      expect(lengths).toEqual([
        [32, 32],
        [32, 32],
        [32, 32],
      ]);
    },
  );
});
