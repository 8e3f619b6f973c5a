import { readFileSync } from 'node:fs';
import { createOpenApiDocument } from './document';

/** Generates the sections of docs/api.md about the operations: the address, a description, the fields, and an example of each body. */

const PAGE = 'docs/api.md';

interface Schema {
  $ref?: string;
  description?: string;
  type?: string | string[];
  format?: string;
  const?: string | number | boolean;
  enum?: (string | number | null)[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
}

interface Body {
  content: { 'application/json': { schema: Schema; examples: Record<string, { summary: string; value: unknown }> } };
}

interface Method {
  summary: string;
  description: string;
  requestBody?: Body;
  responses: { 200: Body };
}

interface Document {
  paths: Record<string, { get?: Method; post?: Method }>;
  components: { schemas: Record<string, Schema> };
}

/** Parts of descriptions that docs/api.md shortens, because its sections about bodies say them once for all fields. */
const SAID_ONCE: readonly [text: RegExp, instead: string][] = [
  [/Not empty, at most \d+ bytes of UTF-8, no lone surrogate\. Not trimmed\./, 'A text field.'],
  [/identifier\. An identifier has 1 to \d+ bytes.*$/, '[identifier](#product-identifiers).'],
  [/, trimmed and uppercased\./, '.'],
  [/Number of records in the response\. Comes last\./, ''],
  [/ ?A calendar date: 2026-02-30 is invalid\./, ''],
  [/ ?Null if this field is missing or malformed in the stored record\./, ''],
];

export function generateReference(): Record<string, string> {
  const { paths, components } = createOpenApiDocument() as unknown as Document;
  let page = readFileSync(PAGE, 'utf8');
  for (const [path, { get, post }] of Object.entries(paths)) {
    const operation = post ?? get;
    if (operation === undefined) continue;
    const text = describeOperation(`${post ? 'POST' : 'GET'} \`${path}\``, operation, components.schemas);
    page = replaceSection(page, operation.summary, text);
  }
  return { [PAGE]: page };
}

/** Replaces the text below a heading of docs/api.md, up to the next heading. A new heading has no text yet. */
export function replaceSection(page: string, heading: string, text: string): string {
  const section = new RegExp(`(?<=^### ${heading}\n\n)[^]*?(?=\n##|^##)`, 'm');
  if (!section.test(page))
    throw new Error(`${PAGE} has no heading "### ${heading}". Add it, with an empty line below it.`);
  return page.replace(section, (old) => (old === '' ? `${text}\n` : text));
}

function describeOperation(address: string, operation: Method, schemas: Document['components']['schemas']): string {
  const { description, requestBody, responses } = operation;
  const describe = (title: string, { content }: Body) =>
    `${title}:\n\n${leaveOutRepeated(listFields(content['application/json'].schema, schemas)).join('\n')}`;
  const bodies = [...(requestBody ? [describe('Request', requestBody)] : []), describe('Response', responses[200])];
  const examples = [
    ...(requestBody ? [showExample('A request', requestBody)] : []),
    showExample('A response', responses[200]),
  ];
  return `${[address, description.split('\n\n')[0], ...bodies, ...examples].join('\n\n')}\n`;
}

function showExample(title: string, { content }: Body): string {
  const [example] = Object.values(content['application/json'].examples);
  return `${title}: ${example?.summary}.\n\n\`\`\`json\n${JSON.stringify(example?.value, null, 2)}\n\`\`\``;
}

/** Leaves out the fields of a price list that an expected forward cost list also has, and says so. */
const leaveOutRepeated = (lines: readonly string[]): string[] =>
  lines
    .filter(
      (line) =>
        !line.startsWith('- `price_list.') || !lines.includes(line.replace('price_list', 'expected_forward_cost')),
    )
    .map((line) =>
      line.startsWith('- `price_list` ') ? `${line} Also has the fields of \`expected_forward_cost\`.` : line,
    );

/**
 * Returns a line for each field of a schema, including the fields within objects, maps and arrays. A field that has fields of its own
 * but no description gets no line.
 */
function listFields(schema: Schema, schemas: Record<string, Schema>, path = ''): string[] {
  const { properties = {}, additionalProperties, items } = resolve(schema, schemas);
  if (typeof additionalProperties === 'object') return listFields(additionalProperties, schemas, `${path}<id>.`);
  if (items !== undefined) return listFields(items, schemas, `${path.slice(0, -1)}[].`);
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = listFields(field, schemas, `${path}${name}.`);
    const description = (field.description ?? '').trim();
    if (inner.length > 0 && description === '') return inner;
    const short = SAID_ONCE.reduce((text, [said, instead]) => text.replace(said, instead), description).trim();
    const line = `- \`${path}${name}\` (${describeType(field, schemas)})${short === '' ? '' : `: ${short}`}`;
    return [line, ...inner];
  });
}

function describeType(field: Schema, schemas: Record<string, Schema>): string {
  const {
    type,
    format,
    enum: values,
    const: constant,
    properties,
    additionalProperties,
    items,
  } = resolve(field, schemas);
  const types = [type ?? []].flat();
  const isNullable = types.includes('null') || field.anyOf?.some((each) => each.type === 'null') === true;
  const named = constant !== undefined ? [constant] : values?.filter((value) => value !== null);
  const one = (): string => {
    if (named !== undefined) return named.map((value) => `\`${String(value)}\``).join(', ');
    if (items !== undefined) return 'array of objects';
    if (typeof additionalProperties === 'object') return 'map of objects';
    if (properties !== undefined) return 'object';
    return format === 'date' || format === 'double' ? format : (types.find((each) => each !== 'null') ?? 'any');
  };
  return isNullable || values?.includes(null) ? `${one()} or null` : one();
}

/** Resolves a reference, even in the first member of `allOf` or `anyOf`, as in a nullable field. */
function resolve(schema: Schema, schemas: Record<string, Schema>): Schema {
  const [inner] = schema.allOf ?? schema.anyOf ?? [];
  if (inner !== undefined) return resolve(inner, schemas);
  return schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
}
