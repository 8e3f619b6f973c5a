import fc from 'fast-check';
import { MAX_DEPTH, scanJson, type Shape } from '../../../src/lib/json';
import { catchValidationError } from '../../../../test/harness/validation';
import { anyCharacter } from '../../../../test/harness/arbitrary-text';
import { parseIndependently, select } from '../../../../test/harness/independent-json';

const special = fc.constantFrom('\\', '"', '\n', '/', '~', '5', '{', ',', ':', '__proto__', '𝄞', '\ud800', '\ufeff');

const SCALAR: Shape = { kind: 'scalar' };
const MAP = { kind: 'map', values: { kind: 'map', values: { kind: 'map', values: SCALAR } } } as const satisfies Shape;

/** Generates JSON in which random characters are escaped and members repeated. */
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
    return write(value);
  });

/** Generates JSON, and replaces up to two of its characters with a short or empty text. */
const nearlyJson = fc
  .tuple(written, fc.nat(), fc.constantFrom('', '"', '{', '}', ',', ':', '\\', '\\u12', '\u0001'), fc.nat({ max: 2 }))
  .map(([json, place, put, dropped]) => {
    const index = place % (json.length + 1);
    return json.slice(0, index) + put + json.slice(index + dropped);
  });

const scan = (json: string, shape: Shape = MAP, maxEntries = Infinity) =>
  scanJson(Buffer.from(json), shape, maxEntries);

/** Returns the message of the error that a text gets; undefined if it gets none. */
const getMessage = (json: string) => catchValidationError(() => scan(json))?.errors[0]?.message;

test('JSON of few levels is read as another parser reads it, whatever its names and escapes', () =>
  fc.assert(
    fc.property(written, (json) => {
      const text = Buffer.from(json).toString();
      expect(scan(text)).toEqual(select(parseIndependently(text)?.value, MAP));
    }),
    { numRuns: 2_000 },
  ));

test('a text of few levels is rejected if and only if another parser rejects it', () =>
  fc.assert(
    fc.property(nearlyJson, (json) => {
      const text = Buffer.from(json).toString();
      const isRejected = parseIndependently(text) === undefined;
      expect([text, getMessage(text)]).toEqual([
        text,
        isRejected
          ? expect.stringMatching(/^Expected JSON, received (no body|other text at position \d+)$/)
          : undefined,
      ]);
    }),
    { numRuns: 2_000 },
  ));

test.each([
  ...['0', '-0', '10', '-1.5', '0.1', '1e5', '1E+05', '2e-7', '123e300', 'true', 'false', 'null', '{"":0}'],
  ...['""', String.raw`"\"\\\/\b\f\n\r\t"`, String.raw`"\u00e9\uD834\uDD1E\ud800"`, '"\u007f\u2028"', '"𝄞"'],
  ...['[]', '{}', '[ ]', '{ }', ' \t\n\r[1 , 2]\n', '{"a" : {"a":[{}]}}', '[[],[[]]]'],
])('%s is JSON', (json) => {
  expect(getMessage(json)).toBeUndefined();
});

/** In each text, ‸ marks the byte that the error names. */
test.each([
  ...['0‸1', '-‸', '-‸a', '‸+1', '‸.5', '1.‸', '1.‸e1', '1e‸', '1e+‸', '0‸x1', '1‸_000', '1 ‸2', '‸１'],
  ...['‸NaN', '‸Infinity', '-‸Infinity', 'tru‸', 'nul‸!', '‸True', 'false‸y', '‸undefined'],
  ...['"‸', '"a‸', "‸'a'", '"‸\n"', '"‸\t"', '"‸\0"', '"a‸\u001f"', '"\\‸x"', '"\\u12‸G4"', '"\\u123‸"', '"\\‸'],
  ...[' ‸', '[‸', '‸]', '[1‸', '[1,‸]', '[‸,1]', '[1 ‸1]', '[1‸}', '[]‸x', '[1‸/**/]', '‸//\n1', '‸\u00a01'],
  ...['{‸', '{‸a:1}', '{"a"‸}', '{"a":‸}', '{"a" ‸1}', '{"a":1,‸}', '{‸1:1}', '{"a":1‸]', '{}‸{}', '‸\f1'],
  ...['"é" ‸1', '{"\ufeff":1} ‸\ufeff', '{"a":{"b":[{"c":[1,2,‸NaN]}]}}'],
])('%j is not JSON', (marked) => {
  const [before = '', after = ''] = marked.split('‸');
  const message = `Expected JSON, received other text at position ${Buffer.byteLength(before)}`;
  expect(getMessage(before + after)).toBe(message);
});

test.each([
  ['arrays', '[', ']'],
  ['objects', '{"a":', '}'],
])('%s are read to a depth of 1,000', (_, open, close) => {
  const nest = (depth: number) => open.repeat(depth) + (open === '[' ? '' : '0') + close.repeat(depth);
  expect(getMessage(nest(MAX_DEPTH))).toBeUndefined();
  const message = 'Expected JSON nested at most 1000 levels deep, received more levels';
  expect(getMessage(nest(MAX_DEPTH + 1))).toBe(message);
  expect(getMessage(open.repeat(10_000_000))).toBe(message);
});

describe('the shape of an object with named members', () => {
  const SHAPE: Shape = {
    kind: 'object',
    members: [
      { name: 'name', shape: SCALAR },
      { name: 'prices', shape: { kind: 'object', members: [{ name: 'price', shape: SCALAR }] } },
    ],
  };

  test.each<[string, unknown]>([
    ['{"name":"a","other":{"name":1},"prices":{"price":1.5,"x":[{}]}}', { name: 'a', prices: { price: 1.5 } }],
    // Of several members with one name, the last counts, whatever its kind and however its name is written.
    ['{"name":1,"prices":{"price":1},"n\\u0061me":[1],"prices":{}}', { name: [], prices: {} }],
    ['{"name":{"name":2},"prices":null}', { name: {}, prices: null }],
    ['{"name ":1,"Name":1,"nam":1,"names":1,"\\n":1,"__proto__":{"name":1},"constructor":1}', {}],
    ['[{"name":1}]', []],
    ['-0', 0],
  ])('decides what is read from %s', (json, expected) => {
    expect(scan(json, SHAPE)).toEqual(expected);
  });
});

describe('a map', () => {
  test('has the last value of each name, including names that every object inherits', () => {
    const json = '{"a":1,"__proto__":2,"\\u0061":3,"constructor":4,"":5,"34":6,"a":"7"}';
    const members = [
      ['a', '7'],
      ['__proto__', 2],
      ['constructor', 4],
      ['', 5],
      ['34', 6],
    ] as const;
    expect(scan(json, { kind: 'map', values: SCALAR })).toEqual(new Map<string, unknown>(members));
  });

  test('has a maximum number of members, repeated ones included', () => {
    expect(scan('{"a":1,"a":2}', MAP, 2)).toEqual(new Map([['a', 2]]));
    expect(() => scan('{"a":1,"a":2,"a":3}', MAP, 2)).toThrow('more than 2 (products)');
  });
});
