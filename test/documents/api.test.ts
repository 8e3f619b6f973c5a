import { readFileSync } from 'node:fs';
import { ERROR_DEFINITIONS } from '../../functions/src/lib/errors';
import {
  MAX_CANONICAL_BYTES,
  MAX_PRODUCTS,
  PRICE_LISTS_BODY_LIMITS,
  READ_BODY_LIMITS,
} from '../../functions/src/lib/payload-limits';
import { rangeOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { getTimeLimitMs } from '../../functions/src/lib/time-limits';
import { collections, fields, subcollections } from '../../functions/src/lib/firestore/collections';
import { MAX_TEXT_BYTES } from '../../functions/src/lib/schemas/fields';
import { MAX_FIELD_ERRORS } from '../../functions/src/lib/schemas/add-price-lists';
import { MAX_DEPTH } from '../../functions/src/lib/json';
import { BUSY_RETRY_AFTER_MS, PAUSE_RETRY_AFTER_MS } from '../../functions/src/lib/http/pipeline';
import { WRITE_SIZES } from '../../functions/src/lib/work-context';
import { MAX_STORED_BYTES } from '../../functions/src/price-lists/payload';
import { getAttemptWaitMs, SWEEP_WAIT_MS } from '../../functions/src/price-lists/schedule';
import { headers } from '../../dev/generate/openapi/headers';

/** Compares docs/api.md and docs/data-model.md with docs/openapi.json, and with the collections, errors and limits of the code. */

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
  headers?: Record<string, unknown>;
  content: { 'application/json': { schema: Schema; examples: Record<string, { value: unknown }> } };
}

interface Method {
  summary: string;
  requestBody?: Body;
  responses: Record<number, Body | undefined> & { 200: Body };
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

/** Leaves out the fields of `price_list` that `expected_forward_cost` also has, because the page describes them once. */
const isDescribed = ({ path }: Field, _: number, fields: Field[]) =>
  !path.startsWith('price_list.') ||
  fields.every((field) => field.path !== path.replace('price_list', 'expected_forward_cost'));

/** Resolves a reference, even in the first member of `allOf` or `anyOf`, as in a nullable field. */
function resolve(schema: Schema): Schema {
  const [inner] = schema.allOf ?? schema.anyOf ?? [];
  if (inner !== undefined) return resolve(inner);
  return components.schemas[schema.$ref?.replace(/.*\//, '') ?? ''] ?? schema;
}

test.each(operations)('the section $summary has a line for each field, with its allowed values', (operation) => {
  const { path, method, summary, requestBody, responses } = operation;
  const section = readSection(`${summary}\n`);
  expect(section).toContain(`${method} \`${path}\``);
  const bodies = requestBody === undefined ? [responses[200]] : [requestBody, responses[200]];
  const fields = bodies.flatMap(({ content }) => listFields(content['application/json'].schema)).filter(isDescribed);
  const lines = [...section.matchAll(/^- `(\S+)` \((.*?)\)(?=:|$)/gm)];
  expect(lines.map(([, name]) => name)).toEqual(fields.map((field) => field.path));
  lines.forEach(([, , type], i) => {
    for (const value of fields[i]?.enum ?? []) expect(type).toContain(String(value));
  });
});

test.each(operations)('the section $summary has the first examples of its request and response', (operation) => {
  const { summary, requestBody, responses } = operation;
  const examples = [requestBody, responses[200]].flatMap((body) =>
    body === undefined ? [] : Object.values(body.content['application/json'].examples).slice(0, 1),
  );
  const blocks = [...readSection(`${summary}\n`).matchAll(/^```json\n(.*?)^```/gms)];
  expect(blocks.map(([, json = '']) => JSON.parse(json) as unknown)).toEqual(examples.map(({ value }) => value));
});

test('the section Idempotency shows statuses, texts and headers of add price lists, without terms for operators', () => {
  const section = readSection('Idempotency\n');
  const responses: Record<string, Body | undefined> =
    operations.find(({ path }) => path === '/addPriceLists')?.responses ?? {};
  const shown = [...section.matchAll(/```http\n *HTTP\/1.1 (\d+).*?```/gs)];
  expect(shown.map(([, status]) => Number(status))).toEqual([200, 409, 409, 500]);
  for (const [block, status] of shown) {
    const headers = responses[status ?? '']?.headers ?? {};
    for (const [, name = ''] of block.matchAll(/^ *([\w-]+): /gm)) expect(Object.keys(headers)).toContain(name);
    const [, error] = /"error": "(.*)"/.exec(block) ?? [];
    const texts = Object.values(ERROR_DEFINITIONS).filter((each) => String(each.status) === status);
    if (error !== undefined) expect(texts.map(({ message }) => message as string)).toContain(error);
  }
  expect(section).not.toMatch(/\b(sweep|attempt|resume|instance)/i);
});

test('the section Idempotency has the values of Retry-After', () => {
  const products = 2_000;
  const getSeconds = (products_count: number) => getAttemptWaitMs({ products_count }) / 1000;
  const [first, step, most] = [getSeconds(0), getSeconds(products) - getSeconds(0), getSeconds(Infinity)];
  expect([step, getSeconds(products - 1), most]).toEqual([1, first, SWEEP_WAIT_MS / 1000]);
  expect(readSection('Idempotency\n')).toContain(
    `that is ${first} seconds and one more for each 2,000 products, at most ${most}.`,
  );
  expect(readSection('Idempotency\n')).toContain(
    `It is ${most} after a failure, ${PAUSE_RETRY_AFTER_MS / 1000} in a pause, and ${BUSY_RETRY_AFTER_MS / 1000} if the service`,
  );
});

test('the pages that name the size of a batch have the value of the code', () => {
  for (const file of ['docs/architecture.md', 'docs/decisions/0004-two-lists.md']) {
    expect(readFileSync(file, 'utf8')).toContain(`${WRITE_SIZES.batchEntries} entries`);
  }
});

test('the section Headers of a response names the described headers that a client acts on', () => {
  const section = readSection('Headers of a response\n');
  for (const name of [
    'X-Request-Id',
    'Idempotent-Replayed',
    'Retry-After',
    'Allow',
    'X-Payload-Limit-Scope',
    'X-Payload-Limit-Bytes',
  ] as const) {
    expect([name, headers[name].description, section]).toEqual([
      name,
      expect.any(String),
      expect.stringContaining(`\`${name}`),
    ]);
  }
  expect(section).toContain(`\`WWW-Authenticate: ${headers['WWW-Authenticate'].schema.enum[0]}\``);
});

test('the table of errors has the status and text of every error', () => {
  const rows = readRows(readSection('Errors\n'));
  const errors = Object.values(ERROR_DEFINITIONS);
  expect(rows.map(([status, text]) => [status, text])).toEqual(
    errors.map(({ status, message }) => [String(status), message]),
  );
});

test('the table of limits has the values of the code', () => {
  const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
  const count = (n: number) => n.toLocaleString('en');
  const seconds = (ms: number) => `${count(ms / 1000)} s`;
  const { maxBytes, timeoutMs } = PRICE_LISTS_BODY_LIMITS;
  expect(Object.fromEntries(readRows(readSection('Limits\n')))).toMatchObject({
    'Request body, as sent and inflated': `${mib(READ_BODY_LIMITS.maxBytes)}; add price lists ${mib(maxBytes)}`,
    'Nesting of a request body': `${count(MAX_DEPTH)} levels`,
    'Products of a price list': `1 to ${count(MAX_PRODUCTS)}; as many as fit into the body`,
    'Payload to store, as canonical JSON': `${mib(MAX_CANONICAL_BYTES)}; compressed ${mib(MAX_STORED_BYTES)}`,
    'Time to send the body': `${seconds(READ_BODY_LIMITS.timeoutMs)}; add price lists ${seconds(timeoutMs)}`,
    'Time to process a request, body included': `${seconds(getTimeLimitMs(rangeOptions, false))}; add price lists ${seconds(getTimeLimitMs(writeOptions, true))}`,
    'Text field': `${count(MAX_TEXT_BYTES)} bytes of UTF-8`,
    'Field errors in a 400 of add price lists': expect.stringMatching(`^${MAX_FIELD_ERRORS};`) as string,
  });
});

describe('docs/data-model.md', () => {
  const text = readFileSync('docs/data-model.md', 'utf8');

  test.each(Object.entries(collections))('has a line for %s, with each field in collections.ts', (key, collection) => {
    const [line] = new RegExp(`^- \\*\\*\`${collection}\`.*$`, 'm').exec(text) ?? [];
    const names = (fields as Record<string, Record<string, string>>)[key.replace(/s$/, '')] ?? {};
    for (const field of Object.values(names))
      for (const part of field.split('.')) expect(line).toContain(`\`${part}\``);
    expect(line).toBeDefined();
  });

  test.each(Object.values(subcollections))('has a line for the subcollection %s', (name) => {
    expect(text).toMatch(new RegExp(`^- \\*\\*\`\\S+/${name}\``, 'm'));
  });
});
