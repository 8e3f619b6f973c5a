import { readFileSync } from 'node:fs';

interface Schema {
  type?: unknown;
  format?: unknown;
}

const schemas: Schema[] = [];
JSON.parse(readFileSync('docs/openapi.json', 'utf8'), (_, value: Schema | null) => {
  if (value?.type !== undefined) schemas.push(value);
  return value;
});

test('every number has the format double, because oapi-codegen rounds numbers without a format', () => {
  const formats = schemas.filter(({ type }) => type === 'number').map(({ format }) => format);
  expect(new Set(formats)).toEqual(new Set(['double']));
});

test('only strings are constants or enums, because clients of openapi-generator read and send other values as strings', () => {
  const fixed = schemas.filter((schema) => 'const' in schema || 'enum' in schema);
  expect(new Set(fixed.map(({ type }) => type))).toEqual(new Set(['string']));
});
