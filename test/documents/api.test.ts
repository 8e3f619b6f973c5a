import { readFileSync } from 'node:fs';
import { ERROR_DEFINITIONS } from '../../functions/src/lib/errors';
import { getMaxValues, PRICE_LISTS_BODY_LIMITS, READ_BODY_LIMITS } from '../../functions/src/lib/payload-limits';
import { rangeOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { getTimeLimitMs } from '../../functions/src/lib/time-limits';
import { collections, fields, subcollections } from '../../functions/src/lib/firestore/collections';
import { MAX_TEXT_BYTES } from '../../functions/src/lib/schemas/fields';
import { MAX_FIELD_ERRORS } from '../../functions/src/lib/schemas/add-price-lists';

/** Compares the tables of docs/api.md and docs/data-model.md with docs/openapi.json and with the collections, errors and limits of the code. */

interface Schema {
  $ref?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
}

interface Body {
  content: { 'application/json': { schema: Schema } };
}

interface Method {
  summary: string;
  requestBody?: Body;
  responses: { 200: Body };
}

const { paths, components } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, Method>>;
  components: { schemas: Record<string, Schema> };
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) =>
    method === 'options' ? [] : [{ path, method: method.toUpperCase(), ...operation }],
  ),
);

const page = readFileSync('docs/api.md', 'utf8');
const readSection = (heading: string): string => page.split(/^##+ /m).find((text) => text.startsWith(heading)) ?? '';

/** Returns the cells of each row of the tables in a text, without the headings. */
const readRows = (text: string): string[][] =>
  [...text.matchAll(/^\| (?!-)(.*) \|$(?!\n\| ?-)/gm)].map(([, row = '']) => row.trim().split(/ *\| */));

type Field = Schema & { path: string };

/** Returns the fields of a schema, including those within objects, maps and arrays. */
function listFields(schema: Schema, path = ''): Field[] {
  const { properties = {}, additionalProperties, items } = resolve(schema);
  if (typeof additionalProperties === 'object') return listFields(additionalProperties, `${path}<id>.`);
  if (items !== undefined) return listFields(items, `${path.slice(0, -1)}[].`);
  return Object.entries(properties).flatMap(([name, property]) => {
    const inner = listFields(property, `${path}${name}.`);
    return inner.length > 0 && property.description === undefined
      ? inner
      : [{ ...property, path: `${path}${name}` }, ...inner];
  });
}

/** Leaves out the fields of `price_list` that `expected_forward_cost` has, because the page describes them once. */
const isDescribed = ({ path }: Field, _: number, fields: Field[]) =>
  !path.startsWith('price_list.') ||
  fields.every((field) => field.path !== path.replace('price_list', 'expected_forward_cost'));

/** Resolves a reference, and removes null from a nullable type. */
function resolve(schema: Schema): Schema {
  const [inner] = schema.allOf ?? schema.anyOf ?? [];
  if (inner !== undefined) return resolve(inner);
  return components.schemas[schema.$ref?.replace(/.*\//, '') ?? ''] ?? schema;
}

test.each(operations)('the section $summary has a row for each field, with its values', (operation) => {
  const { path, method, summary, requestBody, responses } = operation;
  const section = readSection(`${summary}\n`);
  expect(section).toContain(`${method} \`${path}\``);
  const bodies = requestBody === undefined ? [responses[200]] : [requestBody, responses[200]];
  const fields = bodies.flatMap(({ content }) => listFields(content['application/json'].schema)).filter(isDescribed);
  const rows = readRows(section);
  expect(rows.map(([name]) => name)).toEqual(fields.map((field) => `\`${field.path}\``));
  rows.forEach(([, type], i) => {
    for (const value of fields[i]?.enum ?? []) expect(type).toContain(String(value));
  });
});

test('the table of errors has the status, text and code of every error', () => {
  const rows = readRows(readSection('Errors\n'));
  const errors = Object.entries(ERROR_DEFINITIONS);
  expect(rows.map(([status, text, code]) => [status, text, code])).toEqual(
    errors.map(([code, { status, message }]) => [String(status), message, `\`${code}\``]),
  );
});

test('the table of limits has the values of the code', () => {
  const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
  const seconds = (ms: number) => `${ms / 1000} s`;
  const { maxBytes, timeoutMs } = PRICE_LISTS_BODY_LIMITS;
  expect(Object.fromEntries(readRows(readSection('Limits\n')))).toMatchObject({
    'Request body, as sent and inflated': `${mib(READ_BODY_LIMITS.maxBytes)}; add price lists ${mib(maxBytes)}`,
    'Values of a request body': `${getMaxValues(READ_BODY_LIMITS.maxBytes)}; add price lists ${getMaxValues(maxBytes)}`,
    'Time to send the body': `${seconds(READ_BODY_LIMITS.timeoutMs)}; add price lists ${seconds(timeoutMs)}`,
    'Time to process a request, body included': `${seconds(getTimeLimitMs(rangeOptions, false))}; add price lists ${seconds(getTimeLimitMs(writeOptions, true))}`,
    'Text field': `${MAX_TEXT_BYTES} bytes of UTF-8`,
    'Field errors in a 400 of add price lists': expect.stringMatching(`^${MAX_FIELD_ERRORS};`) as string,
  });
});

describe('docs/data-model.md', () => {
  const rows = readRows(readFileSync('docs/data-model.md', 'utf8'));

  test.each(Object.entries(collections))('has a row of %s, with each field in collections.ts', (key, collection) => {
    const row = rows.find(([name]) => name === `\`${collection}\``);
    const names = (fields as Record<string, Record<string, string>>)[key.replace(/s$/, '')] ?? {};
    for (const field of Object.values(names))
      for (const part of field.split('.')) expect(row?.[2]).toContain(`\`${part}\``);
    expect(row).toBeDefined();
  });

  test.each(Object.values(subcollections))('has a row of the subcollection %s', (name) => {
    expect(rows.map(([path]) => path)).toContainEqual(expect.stringContaining(`/${name}\``));
  });
});
