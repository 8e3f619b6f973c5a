import { ValidationError } from '../../../src/lib/errors';
import * as functions from '../../../src';
import { parseJson } from '../../../src/lib/json';
import { operations, postOperationNames, type PostOperationName } from '../../../../scripts/harness/operations';

/**
 * V8 can take an escaped member name for another name that it parsed earlier at the same place of an object
 * (https://github.com/nodejs/node/issues/63785). So a similar name is parsed before each escaped name.
 */

/** @returns the parsed body; undefined if it is invalid */
function parseBody(operation: PostOperationName, text: string): unknown {
  try {
    return functions[operation].operation.body?.parse(parseJson(text));
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

/** Writes a name with one of its characters escaped. */
const escapeAt = (name: string, index: number) =>
  `${name.slice(0, index)}\\u${name.charCodeAt(index).toString(16).padStart(4, '0')}${name.slice(index + 1)}`;

const PRICES = { price_list_price: 1, expected_forward_cost_price: 1 };
const PRODUCTS = ['cement', 'sand', 'gravel'];

test.each(postOperationNames)('%s parses an escaped name correctly after a similar name', (operation) => {
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

test('an identifier with a backslash is not taken for one of an earlier list', () => {
  const parseIds = (id: string) => {
    const text = JSON.stringify({ ...operations.addPriceLists.body, products: { [id]: PRICES } });
    return (parseBody('addPriceLists', text) as { products: { id: string }[] }).products.map((each) => each.id);
  };
  for (const id of ['5\\', '5"', '5\nx', '5\u0001']) expect(parseIds(id)).toEqual([id]);
});
