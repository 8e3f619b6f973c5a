import fc from 'fast-check';
import { JsonSyntaxError, parseText } from '../../../../src/lib/json/body-parser';
import { createJsonParser } from '../../../../src/lib/json/json-parser';
import { StreamingJsonParser } from '../../../../src/lib/json/streaming-parser';
import { findSyntaxError } from '../../../support/find-syntax-error';

/** A control character is nowhere allowed in JSON, neither in a string nor between tokens. */
const NOT_JSON = '\u0001';

/** @returns byte offset of the syntax error, undefined for JSON */
function locateByParser(text: string): number | undefined {
  try {
    parseText(new StreamingJsonParser(), text);
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    expect(error.isAtEnd).toBe(error.byteOffset === Buffer.byteLength(text));
    return error.byteOffset;
  }
}

function locateByScanner(text: string): number | undefined {
  const index = findSyntaxError(text);
  return index === undefined ? undefined : Buffer.byteLength(text.slice(0, index));
}

describe.each([
  ['the parser', locateByParser],
  ['the scanner that other tests compare with', locateByScanner],
])('%s', (_, locate) => {
  test('finds a character that is not JSON exactly where it is, in any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, place) => {
        const before = json.slice(0, place % (json.length + 1));
        fc.pre(before.isWellFormed());
        expect(locate(before + NOT_JSON + json.slice(before.length))).toBe(Buffer.byteLength(before));
      }),
      { numRuns: 2000 },
    );
  });

  test('finds the end of a text that is a part of JSON', () => {
    fc.assert(
      fc.property(
        fc.json().filter((json) => /^[[{"]/.test(json)),
        fc.nat(),
        (json, place) => {
          const part = json.slice(0, place % json.length);
          fc.pre(part.isWellFormed());
          expect(locate(part)).toBe(Buffer.byteLength(part));
          expect(locate(json)).toBeUndefined();
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('finds an error exactly in the texts that JSON.parse rejects', () => {
    const characters = fc.constantFrom(...Array.from('{}[]:,"\\ \n019-+.eEtrufalsn\u0001é\ufeff'));
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 8 }), (text) => {
        const [actual, expected] = [locate(text) === undefined, isJson(text)];
        if (actual !== expected) expect(actual).toBe(expected);
      }),
      { numRuns: 20_000 },
    );
  });

  test.each([
    ['', 0],
    [' \n', 2],
    ['{"a":tru,}', 8],
    ['01', 1],
    ['-', 1],
    ['1.,', 2],
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
    // The error is within a token that must not begin.
    ['{"a" "b\\x"}', 5],
    ['[1 "b', 3],
    ['{tru}', 1],
    ['[0 -]', 3],
    ['1 tru', 2],
    ['\ufeff1', 0],
    ['{\ufeff"a":1}', 1],
    ['[[\ufeff1]]', 2],
  ])('finds that %j stops being JSON at %d', (text, index) => {
    expect(locate(text)).toBe(index);
  });

  test('needs no stack for a million open arrays', () => {
    const text = '['.repeat(1_000_000);
    expect(locate(text)).toBe(text.length);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('the parser and the scanner find the same error in any text of a few characters', () => {
  const characters = fc.constantFrom(...Array.from('{}[]:,"\\ 019-.eEtruen\u0001é\ufeff'));
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 12 }), (text) => {
      const [actual, expected] = [locateByParser(text), locateByScanner(text)];
      // An assertion of Jest takes longer than both, thousands of times.
      if (actual !== expected) expect(actual).toBe(expected);
    }),
    { numRuns: 20_000 },
  );
});

test('a small body is rejected with the place of its error', async () => {
  const parse = async (text: string) => parseText(createJsonParser(String), text);
  await expect(parse('{"é":1,}')).rejects.toEqual(new JsonSyntaxError(8, false));
  await expect(parse('{"é":1')).rejects.toEqual(new JsonSyntaxError(7, true));
  await expect(parse('"é"')).resolves.toBe('é');
});
