import fc from 'fast-check';
import { ValidationError } from '../../../../src/lib/errors';
import { jsonBody } from '../../../../src/lib/http/json-body';
import { parseText, type BodyParser } from '../../../../src/lib/json/body-parser';
import { parseJson } from '../../../../src/lib/json/parse';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../../../src/lib/schemas/requests';
import { createPriceListParser } from '../../../../src/price-lists/submission-parser';
import { arbitraryWrittenText } from '../../../support/arbitrary-text';
import { operations, postOperationNames, type PostOperationName } from '../../../support/operations';

/**
 * V8 may take an escaped member name for another one that it has parsed in the same place of an object before
 * (https://github.com/nodejs/node/issues/63785). All bodies of this file are parsed in one process.
 */

const parsers: Record<PostOperationName, () => BodyParser<unknown>> = {
  addPriceLists: createPriceListParser,
  getOrdersByTeam: jsonBody(ordersByTeamRequestSchema).createParser,
  supplyOrdersInvoices: jsonBody(supplyOrdersInvoicesRequestSchema).createParser,
};

/** @returns the parsed body; undefined if it is invalid */
function parseBody(operation: PostOperationName, text: string): unknown {
  try {
    return parseText(parsers[operation](), text);
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

/** Writes a name with the escape of one of its characters. */
const escapeAt = (name: string, index: number) =>
  `${name.slice(0, index)}\\u${name.charCodeAt(index).toString(16).padStart(4, '0')}${name.slice(index + 1)}`;

test.each(postOperationNames)(
  'a body of %s is parsed as it is alone, after a body with a similar name',
  (operation) => {
    const body = JSON.stringify(operations[operation].body);
    const expected = parseBody(operation, body);
    expect(expected).toBeDefined();
    const names = new Set(
      Array.from(body.matchAll(/"(\w+_\w+|info|date|name|products|status)":/g), ([, name = '']) => name),
    );
    for (const [i, name] of [...names].flatMap((each) => Array.from(each, (_, place) => [place, each] as const))) {
      // The unknown member makes the place of the name in its object new to V8.
      const write = (written: string) => body.replaceAll(`"${name}":`, `"before_${name}_${i}":0,"${written}":`);
      const escaped = escapeAt(name, i);
      // V8 compares the beginning of the escaped text with this name.
      parseBody(operation, write(escaped.slice(0, name.length).replace('\\', '\\\\')));
      expect(parseBody(operation, write(escaped))).toEqual(expected);
    }
  },
);

const arbitraryName = arbitraryWrittenText(fc.constantFrom('a', '5', '\\', '"', '\n', 'é', '𝄞', '__proto__', ''), 3);

interface Written {
  value: unknown;
  text: string;
}

/** Values with the text that each is written as, so that the expected value does not come from a parser. */
const { value: arbitraryValue } = fc.letrec<{ value: Written; object: Written; array: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc
      .constantFrom<unknown>(null, true, -1.5, '', '\\', '{"', ',')
      .map((value) => ({ value, text: JSON.stringify(value) })),
    tie('object'),
    tie('array'),
  ),
  object: fc.array(fc.tuple(arbitraryName, tie('value')), { maxLength: 4 }).map((members) => ({
    value: toObject(members.map(([{ text }, { value }]) => [text, value])),
    text: `{${members.map(([{ json }, value]) => `"${json}" :\n${value.text}`).join(' ,')}}`,
  })),
  array: fc.array(tie('value'), { maxLength: 3 }).map((items) => ({
    value: items.map(({ value }) => value),
    text: `[${items.map(({ text }) => text).join()}]`,
  })),
}));

/** Not assigned: a member may be called __proto__. */
function toObject(members: [name: string, value: unknown][]): object {
  const object = {};
  for (const [name, value] of members) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

test('any JSON has its value, whatever was parsed before it, also with names that come twice', () =>
  fc.assert(
    fc.property(fc.array(arbitraryValue, { maxLength: 4 }), (written) => {
      for (const { value, text } of written) expect(parseJson(text)).toStrictEqual(value);
    }),
    { numRuns: 2_000 },
  ));

test.each(['{"a\\', '{"a\\n":1', '{"a\\x":1}', '["\\n",]', '"\\n" 1', '{"\\n":1}}', '\\'])('%j is not JSON', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('a value is as deep as its text, without a limit of its own', () => {
  const depth = 100_000;
  let value = parseJson(`${'{"\\u0061":'.repeat(depth)}0${'}'.repeat(depth)}`);
  for (let i = 0; i < depth; i += 1) value = (value as { a: unknown }).a;
  expect(value).toBe(0);
});
