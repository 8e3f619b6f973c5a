import fc from 'fast-check';
import { countValues, parseJson } from '../../../src/lib/json';
import { anyCharacter } from '../../../../test/harness/arbitrary-text';

const special = fc.constantFrom('\\', '"', '\n', '/', '~', '5', '{', ',', ':', '__proto__', '𝄞', '\ud800', '\ufeff');

/** Generates a value, and JSON of it in which random characters are escaped and members repeated. */
const written = fc
  .tuple(fc.jsonValue({ stringUnit: fc.oneof(special, anyCharacter) }), fc.infiniteStream(fc.boolean()))
  .map(([value, flags]) => {
    const next = () => flags.next().value as boolean;
    const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const writeText = (text: string) =>
      `"${Array.from(text, (each) => (next() ? each.replace(/[^]/g, escape) : JSON.stringify(each).slice(1, -1))).join('')}"`;
    const write = (each: unknown): string => {
      if (typeof each === 'string') return writeText(each);
      if (Array.isArray(each)) return `[ ${each.map(write).join()}]`;
      if (Object.is(each, -0)) return '-0';
      if (typeof each !== 'object' || each === null) return JSON.stringify(each);
      const members = Object.entries(each).flatMap(([name, member]) => {
        const last = `${writeText(name)}\n:${write(member)}`;
        return next() ? [`${writeText(name)}: 0`, last] : [last];
      });
      return `{${members.join()}}`;
    };
    return { value, json: write(value) };
  });

/** Replaces each member's name in a parsed value with the name that the text has. */
function restoreNames(value: unknown, getName: (member: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => restoreNames(each, getName));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [getName(name), restoreNames(each, getName)]));
}

test('any JSON is parsed to the value that it was written from, whatever its names and escapes', () =>
  fc.assert(
    fc.property(written, ({ json, value }) => {
      const parsed = parseJson(json);
      expect(restoreNames(parsed.value, parsed.getName)).toEqual(value);
    }),
    { numRuns: 2_000 },
  ));

/** Generates JSON in which a short text, which can be empty, replaces up to two characters. */
const nearlyJson = fc
  .tuple(written, fc.nat(), fc.constantFrom('', '"', '{', '}', ',', ':', '\\', '\\u12', '\u0001'), fc.nat({ max: 2 }))
  .map(([{ json }, place, put, dropped]) => {
    const index = place % (json.length + 1);
    return json.slice(0, index) + put + json.slice(index + dropped);
  });

function isJson(json: string, parse: (text: string) => unknown): boolean {
  try {
    parse(json);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return false;
  }
}

test('a text is rejected if and only if JSON.parse rejects it', () =>
  fc.assert(
    fc.property(nearlyJson, (json) => {
      expect(isJson(json, parseJson)).toBe(isJson(json, JSON.parse));
    }),
    { numRuns: 2_000 },
  ));

test('parseJson gives JSON.parse no text with a backslash in a name', () =>
  fc.assert(
    fc.property(written, ({ json }) => {
      const parse = jest.spyOn(JSON, 'parse');
      parseJson(json);
      const texts = parse.mock.calls.map(([each]) => each);
      parse.mockRestore();
      const strings = texts.flatMap((each) => [...each.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)]);
      for (const [, string, colon] of strings)
        expect([string, colon]).not.toEqual([expect.stringContaining('\\'), colon ?? '']);
    }),
    { numRuns: 300 },
  ));

test('a member has its decoded name, unless that begins with ~ or needs a backslash in JSON', () => {
  expect(parseJson('{"te\\u0061m_id":1,"\\u007e":2,"\\n":3}').value).toEqual({ team_id: 1, '~~007e': 2, '~~000a': 3 });
});
test('a name with a backslash is not confused with a similar earlier name', () => {
  // Only objects of this test begin with `only here`, so V8 expects that the name of the first object follows again.
  for (const name of ['5\\', '5"']) {
    const { value, getName } = parseJson(`{"only here":0,${JSON.stringify(name)}:1}`);
    expect(Object.keys(value as object).map(getName)).toEqual(['only here', name]);
  }
});

test('an error says its position only in a text without escaped names', () => {
  expect(() => parseJson('{"a":1,}')).toThrow(/at position 7/);
  for (const text of ['{"\\n":1,}', '{"\\x":1}'])
    expect(() => parseJson(text)).toThrow(/^a text with rewritten names is not JSON$/);
  expect(() => parseJson('{"a":"\\n",}')).toThrow(/at position 10/);
});

test('arrays nested 100,000 levels deep are parsed', () => {
  expect(isJson('['.repeat(100_000) + ']'.repeat(100_000), parseJson)).toBe(true);
});

test.each([
  ['[]', 1],
  ['{"a":[1,2],"b":{}}', 5],
  ['["[,{"]', 1],
  [String.raw`["\",[",1]`, 2],
  [String.raw`["\\",[]]`, 3],
  ['"[', 0],
])('countValues counts the commas and opening brackets of %s outside strings: %d', (json, count) => {
  expect(countValues(json)).toBe(count);
});
