import { readFileSync } from 'node:fs';
import { getOperations } from '../../../scripts/openapi/operations';
import { validateProductId } from '../../src/lib/schemas/add-price-lists';

/** What docs/openapi.json says. That it is what the code generates: `npm run check`; that it is sound: test/description. */

const committed = readFileSync('docs/openapi.json', 'utf8');

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

/** For each rule of product identifiers, some that keep it and some that break it. */
const identifiers = [
  ...['a', 'cement-50kg', 'a b', 'ä', '😀', '__', '___', '_a_', '__a', 'a__', '...', 'constructor', '0', '-'],
  ...['', ' a', 'a ', '\ta', 'a\n', '\ufeffa', 'a\u00a0', 'a/b', '/', '.', '..', '____', '__a__', '__a\nb__'],
];

test.each(identifiers)('the described body accepts the product %j exactly if the service does', (id) => {
  expect(pattern().test(id)).toBe(validateProductId(id) === undefined);
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
