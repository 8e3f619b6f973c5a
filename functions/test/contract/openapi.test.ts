import { readFileSync } from 'node:fs';

const committed = readFileSync('docs/openapi.json', 'utf8');

test('every number has the format double, because oapi-codegen rounds numbers without a format', () => {
  const formats: unknown[] = [];
  JSON.parse(committed, (_, value: { type?: unknown; format?: unknown } | null) => {
    if (value?.type === 'number') formats.push(value.format);
    return value;
  });
  expect(new Set(formats)).toEqual(new Set(['double']));
});
