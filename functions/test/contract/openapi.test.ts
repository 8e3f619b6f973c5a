import { readFileSync } from 'node:fs';
import { createClientOperations } from '../../../scripts/openapi/client';
import { createOpenApiDocument } from '../../../scripts/openapi/document';
import { PAGES, renderPage } from '../../../scripts/openapi/pages';
import { findWrongExamples } from '../../../scripts/openapi/example-checks';
import { getOperations } from '../../../scripts/openapi/operations';
import { priceList } from '../../../scripts/openapi/examples';
import { ERROR_DEFINITIONS } from '../../src/lib/errors';
import { addPriceListsRequestSchema, validateProductId } from '../../src/lib/schemas/add-price-lists';

/** docs/openapi.json and the client's list of operations are what `npm run generate` generates from the code. */

const committed = readFileSync('docs/openapi.json', 'utf8');

test('docs/openapi.json is up to date: `npm run generate` writes it', () => {
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument())));
});

test('the client has every operation: `npm run generate` writes them', () => {
  expect(readFileSync('docs/examples/client/src/operations.ts', 'utf8')).toBe(createClientOperations());
});

test.each(PAGES)('the generated sections of %s are up to date: `npm run generate` writes them', (page) => {
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

describe('for the tools of others', () => {
  const { components, paths } = JSON.parse(committed) as {
    components: { schemas: Record<string, object>; parameters: Record<string, { example?: unknown }> };
    paths: Record<string, Record<string, { responses: object }>>;
  };

  test('no header that the body has to fit is a parameter: fuzzers and the reference page send it alone', () => {
    expect(Object.keys(components.parameters).filter((name) => name.startsWith('Content-'))).toEqual([]);
  });

  test('no request id has an example: the reference page sent the same one with every call', () => {
    expect(components.parameters['X-Request-Id']).not.toHaveProperty('example');
  });

  test('every operation describes what the platform responds, such as 503', () => {
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(operations.filter(({ responses }) => !('default' in responses))).toEqual([]);
  });

  test('every number has 64 bits: without a format, oapi-codegen stored 1234567.89 as 1234567.9', () => {
    const formats: unknown[] = [];
    JSON.parse(committed, (_, value: { type?: unknown; format?: unknown } | null) => {
      if (value?.type === 'number') formats.push(value.format);
      return value;
    });
    expect(new Set(formats)).toEqual(new Set(['double']));
  });

  test('no schema has the name that oapi-codegen gives to the response of an operation', () => {
    const taken = getOperations().map(({ name }) => `${name.charAt(0).toUpperCase()}${name.slice(1)}Response`);
    expect(Object.keys(components.schemas).filter((name) => taken.includes(name))).toEqual([]);
  });
});

test.each(Object.values(ERROR_DEFINITIONS))('the document has the error $status $message', ({ message }) => {
  expect(committed).toContain(JSON.stringify(message));
});

test('no example contradicts its schema', () => {
  expect(findWrongExamples()).toEqual([]);
});

test('a wrong example is told with its operation, its name and the field', () => {
  const [orders] = getOperations().filter(({ name }) => name === 'getOrdersByTeam');
  if (orders?.request === undefined) throw new Error('get orders by team has no request');
  const wrong = {
    ...orders,
    request: { ...orders.request, examples: { month: { summary: '', value: { team_id: 'a' } } } },
    response: {
      ...orders.response,
      examples: {
        found: { summary: '', value: { orders: {}, count: '1' } },
        more: { summary: '', value: { orders: {}, count: 0, page: 1 } },
      },
    },
  };
  expect(findWrongExamples([wrong])).toEqual([
    expect.stringMatching(/^The request example "month" of getOrdersByTeam contradicts its schema: .*start_date: /),
    expect.stringMatching(/^The response example "found" of getOrdersByTeam contradicts its schema: count: /),
    'The response example "more" of getOrdersByTeam contradicts its schema: it has fields that the schema does not name',
  ]);
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
