import fc from 'fast-check';
import { ValidationError } from '../../../../src/lib/errors';
import { StreamingJsonParser } from '../../../../src/lib/json/streaming-parser';

type Member = [name: string, value: unknown];

/** A text that was read in pieces: the members of the large object as they came, and the value that it stood in. */
interface Read {
  members: Member[];
  value: unknown;
}

/** Reads a text that is cut at some places; undefined if it is refused. */
function read(text: string, cuts: readonly number[]): Read | undefined {
  let members: Member[] = [];
  const json = new StreamingJsonParser('large', {
    onObjectStart: () => (members = []),
    onMember: (name, value) => void members.push([name, value]),
  });
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  places.slice(1).forEach((end, i) => json.write(text.slice(places[i], end)));
  try {
    return { value: json.end(), members };
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

/** What was read, with the members back in their place. */
function whole({ value, members }: Read): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && JSON.stringify((value as { large?: unknown }).large) === '{}') {
    const large = {};
    // Not assigned: a member may be called __proto__.
    for (const [name, each] of members) {
      Object.defineProperty(large, name, { value: each, enumerable: true, configurable: true, writable: true });
    }
    return { ...value, large };
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const cuts = fc.array(fc.nat(), { maxLength: 6 });
const space = fc.constantFrom('', '', ' ', '\n\t ');
const scalar = fc.constantFrom<unknown>(null, true, 0, -1.5, 1e300, '', 'large', '{', '"}', '\\"', ',', ':');

/** Names without escapes: with them, what `JSON.parse` says of a whole text is no measure (see LargeJson). */
const plainName = fc.constantFrom('large', 'large', 'a', '', '__proto__', 'é', '7', 'سوق', '𝄞');

/** JSON as anybody may write it, with white space and with names that come twice. */
const { text: anyJson } = fc.letrec<{ text: string; object: string; array: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar.map((value) => JSON.stringify(value)),
    tie('object'),
    tie('array'),
  ),
  object: fc
    .array(fc.tuple(plainName, space, tie('text'), space), { maxLength: 5 })
    .map((all) => `{${all.map(([name, a, value, b]) => `${a}"${name}"${b}:${a}${value}${b}`).join()}}`),
  array: fc.array(tie('text'), { maxLength: 3 }).map((all) => `[${all.join()}]`),
}));

test('any JSON is read as JSON.parse reads it, wherever it is cut', () =>
  fc.assert(
    fc.property(anyJson, cuts, (text, places) => {
      const result = read(text, places);
      expect(result).toBeDefined();
      expect(result && whole(result)).toEqual(parsed(text));
    }),
    { numRuns: 2000 },
  ));

test('what is nearly JSON is read, or refused, as by JSON.parse', () =>
  fc.assert(
    fc.property(
      anyJson,
      fc.nat(),
      fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', ',,', '{}', '"large":{', '\u00a0', '1'),
      fc.nat({ max: 2 }),
      cuts,
      (json, place, put, dropped, places) => {
        const at = place % (json.length + 1);
        const text = json.slice(0, at) + put + json.slice(at + dropped);
        const result = read(text, places);
        expect(result && whole(result)).toEqual(parsed(text));
      },
    ),
    { numRuns: 10_000 },
  ));

/** A string as JSON, as many of its characters as one likes written as escapes. */
const writtenName = fc
  .array(
    fc.tuple(
      fc.oneof(fc.constantFrom('\\', '"', '\n', '/', 'a', '5', 'é', '𝄞', '\ud800'), fc.string({ unit: 'binary' })),
      fc.boolean(),
    ),
    { maxLength: 4 },
  )
  .map((parts) => ({
    name: parts.map(([part]) => part).join(''),
    text: parts.map(([part, odd]) => (odd ? escaped(part) : JSON.stringify(part).slice(1, -1))).join(''),
  }));

const escaped = (part: string) =>
  Array.from({ length: part.length }, (_, i) => `\\u${part.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

test('every member comes as it was sent, in its order, whatever its name and however that is written', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(writtenName, scalar), { maxLength: 6 }), cuts, (members, places) => {
      const texts = members.map(([{ text }, value]) => `"${text}":${JSON.stringify(value)}`);
      const sent = members.map(([{ name }, value]) => [name, value]);
      expect(read(`{"large":{${texts.join()}},"other":1}`, places)).toEqual({
        members: sent,
        value: { large: {}, other: 1 },
      });
    }),
    { numRuns: 2000 },
  ));

test('a name is not taken for one that was read before it', () => {
  const members = (text: string) => read(`{"large":{${text}}}`, [])?.members;
  expect(members(String.raw`"a":1,"5\\":1`)).toEqual([
    ['a', 1],
    ['5\\', 1],
  ]);
  expect(members(String.raw`"a":1,"5\"":1`)).toEqual([
    ['a', 1],
    ['5"', 1],
  ]);
});

test.each(['l\\u0061rge', 'large'])('of two large objects the last counts, also where one is called %s', (name) => {
  for (const names of [
    [name, 'large'],
    ['large', name],
  ]) {
    expect(read(`{"${names[0]}":{"a":1},"${names[1]}":{"b":2}}`, [])?.members).toEqual([['b', 2]]);
  }
});

test.each([0, 1, 999, 1000, 1001, 2500])('%d members come whole, however the text is cut', (count) => {
  const members = Array.from({ length: count }, (_, i): Member => [`${i}`, { value: i }]);
  const text = JSON.stringify({ large: Object.fromEntries(members), other: 1 });
  for (const size of [1, 7, 4096]) {
    const places = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => i * size);
    expect(read(text, places)).toEqual({ members, value: { large: {}, other: 1 } });
  }
});

test.each([
  ['a comma after the last of many', (members: string) => `{"large":{${members},}}`],
  ['two commas between many', (members: string) => `{"large":{${members},,"a":1}}`],
  ['a comma before many', (members: string) => `{"large":{,${members}}}`],
  ['many that are not closed', (members: string) => `{"large":{${members}`],
  ['many that are closed by a bracket', (members: string) => `{"large":{${members}]}`],
  ['a bad one among many', (members: string) => `{"large":{"a":NaN,${members}}}`],
  ['a name without a value', (members: string) => `{"large":{${members},"a"}}`],
  ['a number for a name', (members: string) => `{"large":{${members},1:1}}`],
  ['an array for a name', (members: string) => `{"large":{[1]:1,${members}}}`],
  ['two colons', (members: string) => `{"large":{"a":1:2,${members}}}`],
  ['two names by turns', (members: string) => `{"large":{"a","b",${members}}}`],
])('%s is refused', (_, write) => {
  const members = Array.from({ length: 1000 }, (_, i) => `"${i}":${i}`).join();
  expect(read(write(members), [500])).toBeUndefined();
});
