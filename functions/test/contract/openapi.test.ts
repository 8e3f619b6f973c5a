import { readFileSync } from 'node:fs';
import { createClientOperations } from '../../../scripts/openapi/client';
import { createOpenApiDocument } from '../../../scripts/openapi/document';
import { PAGES, renderPage } from '../../../scripts/openapi/pages';
import { getOperations } from '../../../scripts/openapi/operations';
import { priceList } from '../../../scripts/openapi/examples';
import { ERROR_DEFINITIONS } from '../../src/lib/errors';
import { parseText } from '../../src/lib/json/body-parser';
import { addPriceListsRequestSchema, validateProductId } from '../../src/lib/schemas/add-price-lists';

/** docs/openapi.json and the client's list of operations are what `npm run openapi` generates from the code. */

const committed = readFileSync('docs/openapi.json', 'utf8');

test('docs/openapi.json is up to date: `npm run openapi` writes it', () => {
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument())));
});

test('the client has every operation: `npm run openapi` writes them', () => {
  expect(readFileSync('docs/examples/client/src/operations.ts', 'utf8')).toBe(createClientOperations());
});

test.each(PAGES)('the generated sections of %s are up to date: `npm run openapi` writes them', (page) => {
  const text = readFileSync(page, 'utf8');
  expect(renderPage(page, text, createOpenApiDocument())).toBe(text);
});

test('every function is described with its method, and nothing else is', () => {
  const { paths } = JSON.parse(committed) as { paths: Record<string, object> };
  const described = Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)]);
  const functions = getOperations().map(({ name, info: { method, cors } }) => [
    `/${name}`,
    [method.toLowerCase(), ...(cors ? ['options'] : [])],
  ]);
  expect(Object.fromEntries(described)).toEqual(Object.fromEntries(functions));
});

test.each(Object.values(ERROR_DEFINITIONS))('the document has the error $status $message', ({ message }) => {
  expect(committed).toContain(JSON.stringify(message));
});

test('the examples of requests are valid', () => {
  for (const { info, request } of getOperations()) {
    for (const { value } of Object.values(request?.examples ?? {})) {
      const { body } = info;
      expect(() => body && parseText(body.createParser(), JSON.stringify(value))).not.toThrow();
    }
  }
});

test('the examples of responses are what their schemas say, and nothing else', () => {
  for (const { response } of getOperations()) {
    for (const { value } of Object.values(response.examples)) expect(response.schema.parse(value)).toEqual(value);
  }
});

/** For each rule of product identifiers, some that keep it and some that break it. */
const identifiers = [
  ...['a', 'cement-50kg', 'a b', 'ä', '😀', '__', '___', '_a_', '__a', 'a__', '...', 'constructor', '0', '-'],
  ...['', ' a', 'a ', '\ta', 'a\n', '\ufeffa', 'a\u00a0', 'a/b', '/', '.', '..', '____', '__a__', '__a\nb__'],
];

test.each(identifiers)('the described body accepts the product %j exactly if the service does', (id) => {
  const products = { [id]: { price_list_price: 1, expected_forward_cost_price: 0 } };
  const accepted = validateProductId(id) === undefined;
  expect(addPriceListsRequestSchema.safeParse({ ...priceList, products }).success).toBe(accepted);
  expect(pattern().test(id)).toBe(accepted);
});

/** The rule of identifiers as the document states it. */
function pattern(): RegExp {
  const { components } = JSON.parse(committed) as {
    components: {
      schemas: { AddPriceListsRequest: { properties: { products: { propertyNames: { pattern: string } } } } };
    };
  };
  return new RegExp(components.schemas.AddPriceListsRequest.properties.products.propertyNames.pattern);
}
