import crypto, { createHash } from 'node:crypto';
import fc from 'fast-check';
import { identifyApiKey } from '../../../../src/lib/http/api-key';
import { anyCharacter } from '../../../support/arbitrary-text';

const apiKeys = fc.array(fc.string({ minLength: 1, unit: anyCharacter }), { maxLength: 4 });

const toKeyId = (apiKey: string) => createHash('sha256').update(apiKey).digest('hex').slice(0, 8);

describe('identifyApiKey', () => {
  test('returns the id of an API key that equals a configured one exactly, and of no other', () =>
    fc.assert(
      fc.property(apiKeys, fc.string({ unit: anyCharacter }), fc.nat(3), (configured, other, i) => {
        const header = configured[i] ?? other;
        for (const candidate of [header, `${header} `]) {
          const expected = configured.includes(candidate) ? toKeyId(candidate) : undefined;
          expect(identifyApiKey(candidate, configured)).toBe(expected);
        }
      }),
    ));

  test('returns undefined for a missing or empty header', () =>
    fc.assert(
      fc.property(apiKeys, (configured) => {
        expect(identifyApiKey(undefined, configured)).toBeUndefined();
        expect(identifyApiKey('', configured)).toBeUndefined();
      }),
    ));

  test.each(['first', 'second', 'third', 'none', '', 'x'.repeat(10_000)])(
    'compares every configured API key as a digest in constant time (%#)',
    (header) => {
      const compare = jest.spyOn(crypto, 'timingSafeEqual');
      identifyApiKey(header, ['first', 'second', 'third']);
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
