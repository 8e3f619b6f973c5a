import fc from 'fast-check';
import { findSyntaxProblem } from '../../../../src/lib/json/scanner';

/** A control character, which JSON allows neither in a string nor between tokens. */
const NOT_JSON = '\u0001';

test('finds the index of an invalid character in any JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, place) => {
      const index = place % (json.length + 1);
      expect(findSyntaxProblem(json.slice(0, index) + NOT_JSON + json.slice(index))?.index).toBe(index);
    }),
    { numRuns: 1_000 },
  );
});

test('finds the end of an incomplete JSON text', () => {
  fc.assert(
    fc.property(
      fc.json().filter((json) => /^[[{"]/.test(json)),
      fc.nat(),
      (json, place) => {
        const index = place % json.length;
        expect(findSyntaxProblem(json.slice(0, index))?.index).toBe(index);
        expect(findSyntaxProblem(json)).toBeUndefined();
      },
    ),
    { numRuns: 1_000 },
  );
});

test('finds an error exactly if JSON.parse rejects the text', () => {
  const characters = fc.constantFrom(...Array.from('{}[]:,"\\ \n019-+.eEtrufalsn\u0001é\ufeff'));
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 8 }), (text) => {
      expect(findSyntaxProblem(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 5_000 },
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
  // The text at the index is no token that can come here, so the problem is its first character and not a later one.
  ['{"a" "b\\x"}', 5],
  ['[1 "b', 3],
  ['{tru}', 1],
  ['[0 -]', 3],
  ['1 tru', 2],
  // A byte order mark is not whitespace in JSON.
  ['\ufeff1', 0],
  ['{\ufeff"a":1}', 1],
  ['[[\ufeff1]]', 2],
])('%j stops being JSON at %d', (text, index) => {
  expect(findSyntaxProblem(text)?.index).toBe(index);
});

test('64 levels are JSON, and the level after them is the problem', () => {
  const nest = (levels: number) => '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
  expect(findSyntaxProblem(nest(64))).toBeUndefined();
  expect(findSyntaxProblem(nest(66))).toEqual({ index: 64 * 3, received: 'more than 64 levels' });
  expect(findSyntaxProblem('['.repeat(1_000_000))).toEqual({ index: 64, received: 'more than 64 levels' });
});
