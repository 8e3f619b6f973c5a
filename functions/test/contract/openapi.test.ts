import { readFileSync } from 'node:fs';
import { validateProductId } from '../../src/lib/schemas/add-price-lists';

/** What generated clients read in docs/openapi.json. `npm run check` compares the document with the code. */

const committed = readFileSync('docs/openapi.json', 'utf8');

test('every number has the format double, because oapi-codegen rounds numbers without a format', () => {
  const formats: unknown[] = [];
  JSON.parse(committed, (_, value: { type?: unknown; format?: unknown } | null) => {
    if (value?.type === 'number') formats.push(value.format);
    return value;
  });
  expect(new Set(formats)).toEqual(new Set(['double']));
});

/** Identifiers that follow the rules, and identifiers that break one rule each. */
const identifiers = [
  ...['a', 'cement-50kg', 'a b', 'ä', '😀', '__', '___', '_a_', '__a', 'a__', '...', 'constructor', '0', '-'],
  ...['', ' a', 'a ', '\ta', 'a\n', '\ufeffa', 'a\u00a0', 'a/b', '/', '.', '..', '____', '__a__', '__a\nb__'],
];

test.each(identifiers)('the document accepts the product %j exactly if the service does', (id) => {
  expect(pattern().test(id)).toBe(validateProductId(id) === undefined);
});

/** Returns the document's pattern of product identifiers. */
function pattern(): RegExp {
  const { components } = JSON.parse(committed) as {
    components: {
      schemas: { AddPriceListsRequest: { properties: { products: { propertyNames: { pattern: string } } } } };
    };
  };
  return new RegExp(components.schemas.AddPriceListsRequest.properties.products.propertyNames.pattern);
}
