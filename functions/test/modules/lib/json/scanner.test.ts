import fc from 'fast-check';
import { findSyntaxError } from '../../../../src/lib/json/scanner';

/** A control character, which JSON allows neither in a string nor between tokens. */
const NOT_JSON = '\u0001';

test('finds the index of an invalid character in any JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, place) => {
      const index = place % (json.length + 1);
      expect(findSyntaxError(json.slice(0, index) + NOT_JSON + json.slice(index))).toBe(index);
    }),
    { numRuns: 2000 },
  );
});

test('finds the end of an incomplete JSON text', () => {
  fc.assert(
    fc.property(
      fc.json().filter((json) => /^[[{"]/.test(json)),
      fc.nat(),
      (json, place) => {
        const index = place % json.length;
        expect(findSyntaxError(json.slice(0, index))).toBe(index);
        expect(findSyntaxError(json)).toBeUndefined();
      },
    ),
    { numRuns: 2000 },
  );
});

test('finds an error exactly if JSON.parse rejects the text', () => {
  const characters = fc.constantFrom(...Array.from('{}[]:,"\\ \n019-+.eEtrufalsn\u0001é\ufeff'));
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 8 }), (text) => {
      expect(findSyntaxError(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 20_000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test.each([
  ['', 0],
  [' \n', 2],
  ['{"a":tru,}', 8],
  ['01', 1],
  ['-', 1],
  ['1.,', 2],
  ['1.5.2', 3],
  ['1e+x', 3],
  ['{,}', 1],
  ['[1,]', 3],
  ['{"a" 1}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['}', 0],
  ['{}x', 2],
  ['[1}', 2],
  [String.raw`"\x"`, 2],
  [String.raw`"\u12g4"`, 5],
  ['NaN', 0],
  ['{"a":1}}', 7],
  // No token may begin here.
  ['{"a" "b\\x"}', 5],
  ['[1 "b', 3],
  ['{tru}', 1],
  ['[0 -]', 3],
  ['1 tru', 2],
  ['\ufeff1', 0],
  ['{\ufeff"a":1}', 1],
  ['[[\ufeff1]]', 2],
])('%j stops being JSON at %d', (text, index) => {
  expect(findSyntaxError(text)).toBe(index);
});

test('a million open arrays need no stack', () => {
  const text = '['.repeat(1_000_000);
  expect(findSyntaxError(text)).toBe(text.length);
});
