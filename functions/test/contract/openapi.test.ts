import { readFileSync } from 'node:fs';

/** Tests that docs/openapi.json has only what common validators and generators, such as those in contract.yml, handle correctly. */

interface Schema {
  type?: unknown;
  format?: unknown;
  pattern?: unknown;
}

const schemas: Schema[] = [];
JSON.parse(readFileSync('docs/openapi.json', 'utf8'), (_, value: Schema | null) => {
  if (value?.type !== undefined) schemas.push(value);
  return value;
});

test('every object is open, because a closed model of a generated client fails on a field that a later version adds', () => {
  expect(schemas.filter((schema) => Reflect.get(schema, 'additionalProperties') === false)).toEqual([]);
  expect(schemas.filter((schema) => 'unevaluatedProperties' in schema)).toEqual([]);
});

/**
 * Matches a pattern that means the same in ECMAScript, in Go's RE2 and in Python: characters, classes, groups and
 * repetitions. `\d`, `\s` and `\w` differ in Unicode, and RE2 has no look-ahead and no back-reference. One difference
 * remains: `$` in Python also matches before a final line break.
 */
const PORTABLE = /^\^(?:[\w/-]|\\\/|\[[\w.-]+\]|\((?!\?)|[|)]|\{\d+(?:,\d*)?\})+\$$/;

test('every pattern means the same to validators in Go, Python and JavaScript, except that Python accepts a final line break', () => {
  const patterns = schemas.flatMap(({ pattern }) => (pattern === undefined ? [] : [pattern]));
  expect(patterns.length).toBeGreaterThan(0);
  expect(patterns).toEqual(patterns.map(() => expect.stringMatching(PORTABLE) as string));
});

test.each(['const', 'exclusiveMinimum', 'exclusiveMaximum', 'patternProperties', 'propertyNames', 'prefixItems'])(
  'no schema has %s, which a reader of OpenAPI 3.0 refuses or ignores',
  (keyword) => {
    expect(schemas.filter((schema) => keyword in schema)).toEqual([]);
  },
);

test('every number has the format double, because oapi-codegen rounds numbers without a format', () => {
  const formats = schemas.filter(({ type }) => type === 'number').map(({ format }) => format);
  expect(new Set(formats)).toEqual(new Set(['double']));
});

test('only strings are enums, because clients of openapi-generator read and send other values as strings', () => {
  const fixed = schemas.filter((schema) => 'enum' in schema);
  expect(new Set(fixed.map(({ type }) => type))).toEqual(new Set(['string']));
});
