import { existsSync, readFileSync } from 'node:fs';
import { getOperations } from '../../../scripts/openapi/operations';
import { validateProductId } from '../../src/lib/schemas/add-price-lists';

/** Rules that other tools need docs/openapi.json to follow. `npm run check` compares the document with the code. */

const committed = readFileSync('docs/openapi.json', 'utf8');

test.each(getOperations())('$name has a suite of its own', ({ name }) => {
  const file = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  expect(existsSync(`functions/test/endpoints/${file}.test.ts`)).toBe(true);
});

describe('in docs/openapi.json', () => {
  const { components, paths } = JSON.parse(committed) as {
    components: { schemas: Record<string, object>; parameters: Record<string, { example?: unknown }> };
    paths: Record<string, Record<string, { responses: object }>>;
  };

  test('no parameter is a header of the body, because fuzzers and the reference page would send it without a body', () => {
    expect(Object.keys(components.parameters).filter((name) => name.startsWith('Content-'))).toEqual([]);
  });

  test('X-Request-Id has no example, because the reference page would send it with every call', () => {
    expect(components.parameters['X-Request-Id']).not.toHaveProperty('example');
  });

  test('every operation has a default response, which covers responses of the platform such as 503', () => {
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(operations.filter(({ responses }) => !('default' in responses))).toEqual([]);
  });

  test('every number has the format double, because oapi-codegen rounds numbers without a format', () => {
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
