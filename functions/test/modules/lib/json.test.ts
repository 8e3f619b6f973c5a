import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { countValues, parseJson } from '../../../src/lib/json';
import { anyCharacter, arbitraryWrittenText } from '../../support/arbitrary-text';

/** A value whose objects are arrays of members, because an object of JavaScript sorts its members. */
type Tree = string | number | null | Tree[] | { members: [name: string, value: Tree][] };

/** Returns a parsed value in one form: the members of each object are sorted by name. */
function toTree(value: unknown, getName: (member: string) => string): Tree {
  if (Array.isArray(value)) return value.map((each) => toTree(each, getName));
  if (typeof value !== 'object' || value === null) return value as Tree;
  return toMembers(Object.entries(value).map(([name, each]) => [getName(name), toTree(each, getName)]));
}

/** Sorts members by name. The last of several with one name counts. */
const toMembers = (members: [string, Tree][]): Tree => ({
  members: [...new Map(members)].sort(([a], [b]) => (a < b ? -1 : 1)),
});

/** JSON, and the value that it was written from. */
interface Written {
  json: string;
  tree: Tree;
}

const special = fc.constantFrom(
  '\\',
  '"',
  '\n',
  '/',
  'a',
  '5',
  '__proto__',
  'é',
  '𝄞',
  '\ud800',
  '\ufeff',
  '{',
  ',',
  ':',
);
const text = arbitraryWrittenText(fc.oneof(special, fc.string({ unit: anyCharacter })), 4);
const space = fc.constantFrom('', '', ' ', '\n\t\r ');

const { written } = fc.letrec<{ written: Written; object: Written; array: Written }>((tie) => ({
  written: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text.map(({ json, text }) => ({ json: `"${json}"`, tree: text })),
    fc.constantFrom(0, -1.5, null).map((value) => ({ json: String(value), tree: value })),
    tie('object'),
    tie('array'),
  ),
  object: fc.array(fc.tuple(text, space, tie('written')), { maxLength: 5 }).map((members) => ({
    json: `{${members.map(([name, gap, value]) => `${gap}"${name.json}"${gap}:${gap}${value.json}`).join()}}`,
    tree: toMembers(members.map(([name, , value]) => [name.text, value.tree])),
  })),
  array: fc
    .array(tie('written'), { maxLength: 3 })
    .map((all) => ({ json: `[${all.map(({ json }) => json).join()}]`, tree: all.map(({ tree }) => tree) })),
}));

/** JSON with one part replaced. */
const nearlyJson = fc
  .tuple(written, fc.nat(), fc.constantFrom('', '"', '{', '}', ',', ':', '\\', '\\u12', '\u0001'), fc.nat({ max: 2 }))
  .map(([{ json }, place, put, dropped]) => {
    const index = place % (json.length + 1);
    return json.slice(0, index) + put + json.slice(index + dropped);
  });

test('any JSON is parsed to the value that it was written from, whatever its names and escapes', () =>
  fc.assert(
    fc.property(written, ({ json, tree }) => {
      const { value, getName } = parseJson(json);
      const parsed = toTree(value, getName);
      // An assertion of Jest takes longer than the parser.
      if (!isDeepStrictEqual(parsed, tree)) expect(parsed).toEqual(tree);
    }),
    { numRuns: 3_000 },
  ));

test('a text is rejected exactly if JSON.parse rejects it', () =>
  fc.assert(
    fc.property(nearlyJson, (json) => {
      expect(isJson(json, parseJson)).toBe(isJson(json, JSON.parse));
    }),
    { numRuns: 3_000 },
  ));

function isJson(json: string, parse: (text: string) => unknown): boolean {
  try {
    parse(json);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return false;
  }
}

test('JSON.parse gets no object with a backslash in a name', () =>
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

test('a name with a backslash stays what it is after a similar name', () => {
  const parse = (json: string) => {
    const { value, getName } = parseJson(json);
    return Object.keys(value as object).map(getName);
  };
  expect(parse(String.raw`{"5\\":1}`)).toEqual(['5\\']);
  expect(parse(String.raw`{"5\"":1}`)).toEqual(['5"']);
});

test('an error says its position only in a text without escaped names', () => {
  expect(() => parseJson('{"a":1,}')).toThrow(/at position 7/);
  expect(() => parseJson('{"\\n":1,}')).toThrow(/^a text with rewritten names is not JSON$/);
  expect(() => parseJson('{"a":"\\n",}')).toThrow(/at position 10/);
});

test('100,000 levels are parsed', () => {
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
