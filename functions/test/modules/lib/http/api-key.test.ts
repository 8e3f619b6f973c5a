import crypto from 'node:crypto';
import fc from 'fast-check';
import { parseApiKeys } from '../../../../src/lib/api-keys';
import { sha256 } from '../../../../src/lib/sha256';
import { identifyApiKey, requireApiKey } from '../../../../src/lib/http/api-key';
import { anyCharacter } from '../../../../../test/harness/arbitrary-text';

const apiKeys = fc.array(fc.string({ minLength: 1, unit: anyCharacter }), { maxLength: 4 });

const toKey = (apiKey: string) => ({ name: `name of ${apiKey}`, digest: sha256(apiKey) });

/** Decodes a header as Node does, one character for each byte. */
const receive = (bytes: Buffer) => bytes.toString('latin1');

test.each([
  ['configured', 'api_key_not_configured', 'the secret API_KEY has no valid API key', [], { 'x-api-key': 'a' }],
  ['in the request', 'invalid_api_key', 'no API key in the request', ['a'], {}],
  ['in the request', 'invalid_api_key', 'no API key in the request', ['a', ''], {}],
  ['in the header', 'invalid_api_key', 'no API key in the request', ['a', ''], { 'x-api-key': '' }],
  ['that is configured', 'invalid_api_key', 'the API key is not a configured one', ['a'], { 'x-api-key': 'b' }],
] as const)('without an API key %s the error is %s', (_, code, message, apiKeys, headers) => {
  const isAsked = code === 'invalid_api_key';
  const error = { code, message, headers: isAsked ? { 'WWW-Authenticate': 'ApiKey header="x-api-key"' } : {} };
  expect(() => requireApiKey(headers, apiKeys.map(toKey))).toThrow(expect.objectContaining(error) as Error);
});

describe('identifyApiKey', () => {
  test('returns the name of the configured API key that a header holds in UTF-8 or Latin-1, and of no other', () =>
    fc.assert(
      fc.property(apiKeys, fc.string({ unit: anyCharacter }), fc.nat(3), (configured, other, i) => {
        const sent = configured[i] ?? other;
        const headers = [sent, `${sent} `].map((text) => receive(Buffer.from(text)));
        if (/^[\0-\xff]*$/.test(sent)) headers.push(sent);
        for (const header of headers) {
          const expected = configured.find((key) => key === header || receive(Buffer.from(key)) === header);
          expect(identifyApiKey(header, configured.map(toKey))).toBe(expected && toKey(expected).name);
        }
      }),
    ));

  test('accepts the API key whose digest is configured, and never the digest itself', () => {
    const digest = sha256('a-key').toString('hex');
    const { keys } = parseApiKeys(`acme:${digest}`);
    const sent = ['a-key', digest, `acme:${digest}`, 'acme'];
    expect(sent.filter((header) => identifyApiKey(header, keys) !== undefined)).toEqual(['a-key']);
  });

  test.each(['first', 'third', 'none', ''])(
    'compares every configured API key as a digest in constant time (%#)',
    (header) => {
      const compare = jest.spyOn(crypto, 'timingSafeEqual');
      identifyApiKey(header, ['first', 'second', 'third'].map(toKey));
      const lengths = compare.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]);
      compare.mockRestore();
      // Each API key is compared with both encodings of the header.
      expect(lengths).toEqual(Array.from({ length: 6 }, () => [32, 32]));
    },
  );
});
