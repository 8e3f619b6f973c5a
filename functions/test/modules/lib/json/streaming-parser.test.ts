import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { PayloadTooLargeError } from '../../../../src/lib/errors';
import { JsonSyntaxError } from '../../../../src/lib/json/body-parser';
import { StreamingJsonParser } from '../../../../src/lib/json/streaming-parser';
import { findSyntaxProblem } from '../../../../src/lib/json/scanner';
import { anyCharacter, arbitraryWrittenText } from '../../../support/arbitrary-text';

type Member = [name: string, value: unknown];

/** The result of a parse: the members of the large object in their order, and the outermost value. */
interface Read {
  members: Member[];
  value: unknown;
}

const ENVELOPE_BYTES = 20_000;
const MEMBER_BYTES = 1_000;

const options = {
  streamedMember: 'large',
  envelopeLimit: { scope: 'outside_products', bytes: ENVELOPE_BYTES },
  memberLimit: { scope: 'product', bytes: MEMBER_BYTES },
} as const;

/** Parses a text in chunks that end at the given places, except within a character. @throws JsonSyntaxError, PayloadTooLargeError */
function parse(text: string, cuts: readonly number[]): Read {
  let members: Member[] = [];
  const createHandler = () => {
    members = [];
    return (name: string, value: unknown) => void members.push([name, value]);
  };
  const parser = new StreamingJsonParser({ ...options, createHandler });
  const places = cuts.map((cut) => cut % (text.length + 1)).filter((cut) => !/[\udc00-\udfff]/.test(text.charAt(cut)));
  const starts = [0, ...places.sort((a, b) => a - b), text.length];
  starts.slice(1).forEach((end, i) => parser.write(text.slice(starts[i], end)));
  return { value: parser.end(), members };
}

/** Parses as {@link parse} does. @returns undefined for a text that is not JSON */
function read(text: string, cuts: readonly number[]): Read | undefined {
  try {
    return parse(text, cuts);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function getError(text: string, cuts: readonly number[]): unknown {
  try {
    parse(text, cuts);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Returns the whole value, with the members in their place. */
function whole({ value, members }: Read): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && JSON.stringify((value as { large?: unknown }).large) === '{}') {
    const large = {};
    // Assigning a member `__proto__` would set the prototype.
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
const scalar = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1.5,
  1e300,
  '',
  'large',
  '{',
  '"}',
  '\\"',
  ',',
  ':',
  'é\ufeff𝄞',
);

/** Names without escapes, because `JSON.parse` can confuse escaped names (docs/decisions/0010-read-as-it-arrives.md). */
const plainName = fc.constantFrom('large', 'large', 'a', '', '__proto__', 'é', '7', 'سوق', '𝄞', 'a\ufeff');

/** Any JSON, with whitespace and with repeated names. */
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

/** JSON with one part replaced. */
const nearlyJson = fc
  .tuple(
    anyJson,
    fc.nat(),
    fc.constantFrom(
      '',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      ',,',
      '{}',
      '"large":{',
      '\u00a0',
      '\ufeff',
      '1',
      // A backslash alone could make an escaped name, which parseJson can read as an empty name.
      '\\x',
      'é𝄞',
    ),
    fc.nat({ max: 2 }),
  )
  .map(([json, place, put, dropped]) => {
    const index = place % (json.length + 1);
    return json.slice(0, index) + put + json.slice(index + dropped);
  })
  .filter((text) => text.isWellFormed());

test('JSON, and a text that is nearly JSON, is parsed or rejected as by JSON.parse, wherever it is cut', () =>
  fc.assert(
    fc.property(fc.oneof(anyJson, nearlyJson), cuts, (text, places) => {
      const result = read(text, places);
      const [actual, expected] = [result && whole(result), parsed(text)];
      // An assertion of Jest takes longer than the parser.
      if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
    }),
    { numRuns: 3_000 },
  ));

test('a syntax error is located at the same byte wherever the text is cut, also within the large object', () =>
  fc.assert(
    fc.property(nearlyJson, cuts, (text, places) => {
      const problem = findSyntaxProblem(text);
      fc.pre(problem !== undefined);
      const { index, received } = problem;
      expect(getError(text, places)).toMatchObject({ byteOffset: Buffer.byteLength(text.slice(0, index)), received });
    }),
    { numRuns: 2_000 },
  ));

const everyNth = (size: number, length: number): number[] =>
  Array.from({ length: Math.ceil(length / size) }, (_, i) => i * size);

describe('a limit', () => {
  const tooLarge = (scope: string) =>
    expect.objectContaining({
      headers: expect.objectContaining({ 'X-Payload-Limit-Scope': scope }) as object,
    }) as PayloadTooLargeError;
  /** Returns what a parse in chunks of three sizes throws; undefined for a text that is accepted. */
  const outcomes = (text: string) => [7, 100, text.length].map((size) => getError(text, everyNth(size, text.length)));
  const accepted = [undefined, undefined, undefined];
  const rejected = (scope: string) => [tooLarge(scope), tooLarge(scope), tooLarge(scope)];

  test('applies to the text outside the large object, to the byte', () => {
    const text = (bytes: number) => {
      const rest = '{"large":{},"é":""}';
      return `{"large":{"a":1},"é":"${'x'.repeat(bytes - Buffer.byteLength(rest))}"}`;
    };
    expect(outcomes(text(ENVELOPE_BYTES))).toEqual(accepted);
    expect(outcomes(text(ENVELOPE_BYTES + 1))).toEqual(rejected('outside_products'));
  });

  test.each(['é', 'x'])('applies to one value, to the byte: of %s', (character) => {
    const text = (bytes: number) => {
      const count = Math.floor((bytes - 2) / Buffer.byteLength(character));
      const value = `"${character.repeat(count)}"`.padEnd(count + 2 + bytes - 2 - count * Buffer.byteLength(character));
      return `{"large":{"a":1,"b":${value},"c":2}}`;
    };
    expect(outcomes(text(MEMBER_BYTES))).toEqual(accepted);
    expect(outcomes(text(MEMBER_BYTES + 1))).toEqual(rejected('product'));
  });

  test('applies to one name', () => {
    const text = (bytes: number) => `{"large":{"${'x'.repeat(bytes - 2)}":1}}`;
    expect(outcomes(text(MEMBER_BYTES))).toEqual(accepted);
    expect(outcomes(text(MEMBER_BYTES + 1))).toEqual(rejected('product'));
  });

  test('does not apply to the text after a syntax error', () => {
    const rejectedAt = (byteOffset: number) => accepted.map(() => new JsonSyntaxError(byteOffset, 'other text'));
    const tooLong = 'x'.repeat(ENVELOPE_BYTES);
    expect(outcomes(`{"other":x,"${tooLong}"`)).toEqual(rejectedAt(9));
    expect(outcomes(`{"other":"${tooLong}",x`)).toEqual(rejected('outside_products'));
    expect(outcomes(`{"large":{"a":x,"b":"${tooLong}"}}`)).toEqual(rejectedAt(14));
    expect(outcomes(`{"large":{"b":"${tooLong}","a":x}}`)).toEqual(rejected('product'));
  });

  test('does not apply to all members together', () => {
    const members = Array.from({ length: 200 }, (_, i) => `"${i}":"${'x'.repeat(MEMBER_BYTES - 2)}"`).join();
    expect(outcomes(`{"large":{${members}}}`)).toEqual(accepted);
  });
});

const writtenName = arbitraryWrittenText(
  fc.oneof(
    fc.constantFrom('\\', '"', '\n', '/', 'a', '5', 'é', '𝄞', '\ud800', '\ufeff'),
    fc.string({ unit: anyCharacter }),
  ),
  4,
);

test('every member is returned unchanged and in order, whatever its name and its escapes', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(writtenName, scalar), { maxLength: 6 }), cuts, (members, places) => {
      const texts = members.map(([{ json }, value]) => `"${json}":${JSON.stringify(value)}`);
      const sent = members.map(([{ text }, value]) => [text, value]);
      expect(read(`{"large":{${texts.join()}},"other":1}`, places)).toEqual({
        members: sent,
        value: { large: {}, other: 1 },
      });
    }),
    { numRuns: 1_000 },
  ));

test.each([
  '{"b":"},"c":{"d":"}',
  '{"b":"},"}, 1, {":{"d":"}',
  '{"b":"}","c":{"d":1}',
  '{"b":1},"c":{"d":2',
  '{"b":[1},"c":{"d":2]}',
  '{"b":1}"c":{"d":2}',
  '{"b":1},\u00a0"c":{"d":2}',
  '{"b":1}},"c":{{"d":2}',
  '{"b":"\n"},"c":{"d":2}',
  '{"b":"\\"},"c":{"d":2}',
])('members around %j are parsed as by JSON.parse', (part) => {
  const text = `{"large":{"first":1,"a":${part},"last":{"x":1},"e":{}}}`;
  for (const places of [[], everyNth(1, text.length)]) {
    const result = read(text, places);
    expect(result && whole(result)).toEqual(parsed(text));
  }
});

test.each(['l\\u0061rge', 'large'])(
  'of two large objects the last one counts, even if the name of one is written as %s',
  (name) => {
    for (const names of [
      [name, 'large'],
      ['large', name],
    ]) {
      expect(read(`{"${names[0]}":{"a":1},"${names[1]}":{"b":2}}`, [])?.members).toEqual([['b', 2]]);
    }
  },
);

test.each([0, 1, 10_000])('%d members are read completely, wherever the text is cut', (count) => {
  const members = Array.from({ length: count }, (_, i): Member => [`${i}`, { value: i }]);
  const text = JSON.stringify({ large: Object.fromEntries(members), other: 1 });
  for (const size of [1, 7, 4096, text.length]) {
    expect(read(text, everyNth(size, text.length))).toEqual({ members, value: { large: {}, other: 1 } });
  }
});
