import { parseApiKeys } from '../../../src/lib/api-keys';
import { sha256 } from '../../../src/lib/sha256';

const DIGEST = '0123456789abcdef'.repeat(4);

/** The SHA-256 of no bytes. */
const DIGEST_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const named = (name: string) => ({ name, digest: Buffer.from(DIGEST, 'hex') });

test.each<[string, string[], number[]]>([
  ['', [], []],
  [' \r\n\t\n', [], []],
  [' one \r\n\n\ttwo\n', ['one', 'two'], []],
  ['# Acme GmbH, since May\none\n  #two\n#', ['one'], []],
  ['one#1\none#2', ['one#1', 'one#2'], []],
  ['one\ntwo words\nthree\nfour\tfive\nsix\u00a0seven', ['one', 'three'], [2, 4, 5]],
  ['zwölf-€', ['zwölf-€'], []],
])('the setting %j has the plain API keys %j and the invalid lines %j', (setting, plainKeys, invalidLines) => {
  const keys = plainKeys.map((key) => ({ name: sha256(key).toString('hex').slice(0, 8), digest: sha256(key) }));
  expect(parseApiKeys(setting)).toEqual({ keys, plainKeys, invalidLines });
});

test('a name with a digest in lower or upper case is an API key of this name', () => {
  const name = 'a-1'.padEnd(32, 'z');
  const setting = `acme:${DIGEST}\r\n  ${name}:${DIGEST.toUpperCase()}  `;
  expect(parseApiKeys(setting)).toEqual({ keys: [named('acme'), named(name)], plainKeys: [], invalidLines: [] });
});

test.each([
  `acme:${DIGEST.slice(1)}`,
  `acme:${DIGEST}0`,
  `acme:${DIGEST.slice(1)}g`,
  `acme: ${DIGEST}`,
  `Acme:${DIGEST}`,
  `${'a'.repeat(33)}:${DIGEST}`,
  `:${DIGEST}`,
  `sha256:acme:${DIGEST}`,
  'acme:secret',
  `acme:${DIGEST_OF_NOTHING}`,
  `acme:${DIGEST_OF_NOTHING.toUpperCase()}`,
  DIGEST,
  `  ${DIGEST.toUpperCase()}\r`,
])('the line %j is invalid', (line) => {
  expect(parseApiKeys(line)).toEqual({ keys: [], plainKeys: [], invalidLines: [1] });
});
