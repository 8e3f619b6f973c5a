import { ValidationError } from '../../../../src/lib/errors';
import { jsonBody } from '../../../../src/lib/http/json-body';
import type { BodyParser } from '../../../../src/lib/json/body-parser';
import { parseJson } from '../../../../src/lib/json/parse';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../../../src/lib/schemas/requests';
import { createPriceListParser } from '../../../../src/price-lists/submission-parser';
import { operations, postOperationNames, type PostOperationName } from '../../../support/operations';
import { parseText } from '../../../support/submissions';

/**
 * V8 can take an escaped member name for another name that it parsed earlier at the same place of an object
 * (https://github.com/nodejs/node/issues/63785). So a similar name is parsed before each escaped name.
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

/** Writes a name with one of its characters escaped. */
const escapeAt = (name: string, index: number) =>
  `${name.slice(0, index)}\\u${name.charCodeAt(index).toString(16).padStart(4, '0')}${name.slice(index + 1)}`;

const PRODUCTS = ['cement', 'sand', 'gravel'];

test.each(postOperationNames)('%s parses an escaped name correctly after a similar name', (operation) => {
  // The parser reads a product between two others differently from the first and the last.
  const sand = '"sand":{"price_list_price":1,"expected_forward_cost_price":1},"gravel"';
  const body = JSON.stringify(operations[operation].body).replace('"gravel"', sand);
  const expected = parseBody(operation, body);
  expect(expected).toBeDefined();
  const names = new Set(Array.from(body.matchAll(/"(\w+)":/g), ([, name = '']) => name));
  for (const name of [...names].filter((each) => !PRODUCTS.includes(each))) {
    for (let i = 0; i < name.length; i += 1) {
      // An unknown member before the name makes its place in the object new to V8.
      const write = (written: string) => body.replaceAll(`"${name}":`, `"before_${name}_${i}":0,"${written}":`);
      const escaped = escapeAt(name, i);
      // V8 can take the escaped name for this one, which begins with the same text.
      const similar = escaped.slice(0, name.length).replace('\\', '\\\\');
      parseBody(operation, write(similar));
      expect(parseBody(operation, write(escaped))).toEqual(expected);
    }
  }
});

test('a name that needs an escape is parsed as the empty name', () => {
  const text = String.raw`{"a\n"${' \t\r\n'}:1,"a":2,"\"a":3,"a\\":4,"\ud800":5,"b":[{"\u0022":"\n"}]}`;
  expect(parseJson(text)).toEqual({ '': 5, a: 2, b: [{ '': '\n' }] });
});

test.each(['{"a\\', '{"a\\n":1', '{"a\\x":1}', '["\\n",]', '"\\n" 1', '{"\\n":1}}', '\\'])('%j is not JSON', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});
